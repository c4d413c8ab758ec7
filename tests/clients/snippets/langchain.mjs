import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const client = new MultiServerMCPClient({
  brig: { command: 'brig', args: ['mcp', '--manifest', '/srv/agent/brig.toml'] },
});
const tools = await client.getTools(); // for createAgent({ model, tools })
console.log(tools.map((tool) => tool.name).join(' '));
await client.close();
