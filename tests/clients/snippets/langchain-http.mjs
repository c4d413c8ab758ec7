import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const client = new MultiServerMCPClient({
  brig: {
    url: 'http://127.0.0.1:7070/mcp',
    headers: { Authorization: `Bearer ${process.env.BRIG_TOKEN}` },
  },
});
const tools = await client.getTools(); // for createAgent({ model, tools })
console.log(tools.map((tool) => tool.name).join(' '));
await client.close();
