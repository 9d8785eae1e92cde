/** Finds the answers of conversations, a JSON object a line of standard input, and writes their places. */
import { createInterface } from 'node:readline'
import {
  InputError,
  compileChatTemplate,
  parseExact,
  type Chat,
  type ChatTemplate,
} from '@cairn-tune/weights'

type Case = { template?: string; globals: Record<string, unknown>; chat: Chat }

let template: ChatTemplate | undefined

function answersOf({ template: source, globals, chat }: Case): object {
  if (source !== undefined) template = compileChatTemplate(source, globals)
  if (!template) throw new Error('the first case has no template')
  try {
    const spans: [number, number][] = []
    let position = 0
    for (const { text, isAssistant } of template.pieces(chat)) {
      if (isAssistant) spans.push([position, position + text.length])
      position += text.length
    }
    return { text: template.render(chat), spans }
  } catch (error) {
    if (error instanceof InputError) return { error: error.message }
    throw error
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(answersOf(parseExact(line) as Case))}\n`)
