import { Agent, MCPServerStdio, run } from '@openai/agents';

const brig = new MCPServerStdio({ command: 'brig', args: ['mcp', '--manifest', '/srv/agent/brig.toml'] });
await brig.connect();
try {
  const agent = new Agent({ name: 'Assistant', mcpServers: [brig] });
  const { finalOutput } = await run(agent, 'What is 2 + 3?');
  console.log(finalOutput);
} finally {
  await brig.close();
}
