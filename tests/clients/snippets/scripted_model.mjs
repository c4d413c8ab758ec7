// In the place of OpenAI's models, so that the examples run offline: asks for add(2, 3), then tells what came out.
import { setDefaultModelProvider, setTracingDisabled, Usage } from '@openai/agents';

setTracingDisabled(true);
setDefaultModelProvider({
  getModel: () => ({
    async getResponse({ input }) {
      const answer = Array.isArray(input) && input.find((item) => item.type === 'function_call_result');
      const output = answer
        ? {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: JSON.stringify(answer.output) }],
          }
        : { type: 'function_call', callId: '1', name: 'add', status: 'completed', arguments: '{"a":2,"b":3}' };
      return { usage: new Usage(), output: [output] };
    },
  }),
});
