import { createMCPClient } from '@ai-sdk/mcp';

const client = await createMCPClient({
  transport: {
    type: 'http',
    url: 'http://127.0.0.1:7070/mcp',
    headers: { Authorization: `Bearer ${process.env.BRIG_TOKEN}` },
  },
});
const tools = await client.tools(); // for generateText({ model, tools, prompt })
console.log(Object.keys(tools).join(' '));
await client.close();
