/** Sends a message with OpenAI's client library, approves what the agent asks for, and prints the answer. */
import OpenAI from 'openai'

const { CAIRN_URL = 'http://127.0.0.1:8787', CAIRN_TOKEN: apiKey } = process.env
const [input, model = 'assistant'] = process.argv.slice(2)
if (apiKey === undefined || input === undefined) {
  console.error('usage: CAIRN_TOKEN=… node examples/openai.ts MESSAGE [AGENT]')
  process.exit(2)
}

const openai = new OpenAI({ apiKey, baseURL: `${CAIRN_URL}/compat/openai/v1` })
let response = await openai.responses.create({ model, input })
for (;;) {
  const asked = response.output.filter(item => item.type === 'mcp_approval_request')
  if (asked.length === 0) break
  for (const { name, arguments: args } of asked) console.log(`approved: ${name} ${args}`)
  response = await openai.responses.create({
    previous_response_id: response.id,
    input: asked.map(({ id }) => ({ type: 'mcp_approval_response', approval_request_id: id, approve: true })),
  })
}
console.log(response.output_text)
