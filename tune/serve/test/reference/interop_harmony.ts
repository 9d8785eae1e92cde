/**
 * The conversations that interop_harmony.py wrote, rendered by the model's template as the server does it, in
 * text and in ids: `node interop_harmony.ts DIR`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadTokenizer } from '@cairn-tune/weights'
import { renderChat } from '../../src/chat-prompt.ts'
import { chatRequest } from '../../src/protocol.ts'
import { textsOf } from '../../src/texts.ts'

const [directory = ''] = process.argv.slice(2)
type Case = { request: object; text: string; ids: number[] }
const cases = JSON.parse(readFileSync(join(directory, 'conversations.json'), 'utf8')) as Case[]
const tokenizer = await loadTokenizer(join(directory, 'model'))
let [texts, ids, shown] = [0, 0, 0]
for (const { request, text, ids: wanted } of cases) {
  const asked = chatRequest.parse(request)
  const prompt = await renderChat({ texts: textsOf(tokenizer), maxPromptBytes: Infinity }, asked, true)
  const found = tokenizer.decode(prompt.ids)
  texts += Number(found === text)
  ids += Number(prompt.ids.length === wanted.length && prompt.ids.every((id, i) => id === wanted[i]))
  if (found !== text && shown++ < 2) console.log(JSON.stringify({ found, text }, null, 1))
}
console.log(`${cases.length} conversations: ${texts} with the same text, ${ids} with the same ids`)
