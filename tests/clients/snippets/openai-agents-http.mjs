import { Agent, MCPServerStreamableHttp, run } from '@openai/agents';

const brig = new MCPServerStreamableHttp({
  url: 'http://127.0.0.1:7070/mcp',
  requestInit: { headers: { Authorization: `Bearer ${process.env.BRIG_TOKEN}` } },
});
await brig.connect();
try {
  const agent = new Agent({ name: 'Assistant', mcpServers: [brig] });
  const { finalOutput } = await run(agent, 'What is 2 + 3?');
  console.log(finalOutput);
} finally {
  await brig.close();
}
