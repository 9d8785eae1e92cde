import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ChatMessage } from './chat.ts'
import { compileChatTemplate } from './chat-template.ts'
import { loadTokenizer, type ModelTokenizer } from './tokenizer.ts'

const reference = fileURLToPath(new URL('../test/reference/tokenizer', import.meta.url))
type Goldens = {
  texts: { text: string; ids: number[]; decoded: string }[]
  chats: Record<string, { messages: ChatMessage[]; tools?: unknown[]; text: string }>
  prompt: string
  no_thinking_prompt: string
  marked: { template: string; ids: number[]; mask: number[] }
}
let goldens: Goldens
let tokenizer: ModelTokenizer
let directory: string
beforeAll(async () => {
  goldens = JSON.parse(await readFile(join(reference, 'goldens.json'), 'utf8')) as Goldens
  tokenizer = await loadTokenizer(reference)
  directory = await mkdtemp(join(tmpdir(), 'cairn-tokenizer-'))
})
afterAll(() => rm(directory, { recursive: true }))

const user = { role: 'user', content: 'How many?' }
const answer = { role: 'assistant', content: '12 - 5 = 7' }
const trained = (messages: ChatMessage[]) =>
  tokenizer.chat
    ?.pieces({ messages })
    .filter(piece => piece.isAssistant)
    .map(piece => piece.text)

test('gives the ids and texts of the Python library', () => {
  for (const { text, ids, decoded } of goldens.texts) {
    expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(ids)
    expect(tokenizer.decode(ids), JSON.stringify(text)).toBe(decoded)
  }
  expect(tokenizer).toMatchObject({ vocabSize: 375, eosTokenId: 2, padTokenId: 0, bosTokenId: undefined })
  expect(tokenizer.decode([1, 85, 2], { skipSpecialTokens: true })).toBe(tokenizer.decode([85]))
})

/** Promise T3: Decoding tokens one by one gives the same text as decoding them together. */
test('concatenated token pieces equal the decoded text, even with split characters', () => {
  const ids = Array.from({ length: 4000 }, (_, i) => (i * 7919 + ((i * i) % 1009)) % tokenizer.vocabSize)
  for (const skipSpecialTokens of [false, true]) {
    const bytes = new TextDecoder('utf-8', { ignoreBOM: true })
    const parts = ids
      .map(id => tokenizer.pieceOf?.(id, { skipSpecialTokens }) ?? expect.unreachable())
      .map(piece => {
        if (typeof piece !== 'string') return bytes.decode(piece, { stream: true })
        return piece === '' ? '' : bytes.decode() + piece
      })
    expect(parts.join('') + bytes.decode()).toBe(tokenizer.decode(ids, { skipSpecialTokens }))
  }
})

test('renders conversations and tools like the Python library', () => {
  for (const [name, { messages, tools, text }] of Object.entries(goldens.chats))
    expect(tokenizer.chat?.render({ messages, tools }), name).toBe(text)
  expect(tokenizer.chat?.render({ messages: [user] }, { addGenerationPrompt: true })).toBe(goldens.prompt)
  expect(
    tokenizer.chat?.render(
      { messages: [user] },
      { addGenerationPrompt: true, variables: { enable_thinking: false } },
    ),
  ).toBe(goldens.no_thinking_prompt)
})

test("trains on the assistant's text in every turn, up to the end of the turn", () => {
  const { messages } = goldens.chats['three turns'] ?? { messages: [] }
  expect(trained(messages)).toEqual([
    '12 - 5 = 7\n#### 7<|im_end|>\n',
    '12 - 5 = 7\n#### 7<|im_end|>\n',
    '\n7<|im_end|>\n',
  ])
  for (const chat of Object.values(goldens.chats)) {
    const pieces = tokenizer.chat?.pieces(chat) ?? []
    expect(pieces.map(piece => piece.text).join('')).toBe(chat.text)
  }
  const tools = tokenizer.chat
    ?.pieces(goldens.chats['tools'] ?? { messages: [] })
    .filter(piece => piece.isAssistant)
  expect(tools?.map(piece => piece.text)).toEqual([
    '<call>{"name": "add", "arguments": {"a": 1, "b": [2, "ă"]}}<|im_end|>\n',
    '12 - 5 = 7\n#### 7<|im_end|>\n',
  ])
})

test('the mask of a template with {% generation %} matches the Python library', () => {
  const { messages } = goldens.chats['three turns'] ?? { messages: [] }
  const { template, ids, mask } = goldens.marked
  const chat = compileChatTemplate(template, {})
  const pieces = chat.pieces({ messages: [...messages.slice(0, -1), messages[2]!] })
  expect(pieces.flatMap(({ text }) => tokenizer.encode(text))).toEqual(ids)
  expect(
    pieces.flatMap(({ text, isAssistant }) => tokenizer.encode(text).map(() => Number(isAssistant))),
  ).toEqual(mask)
  expect(chat.render({ messages })).not.toMatch(/[\u{fdd0}\u{fdd1}]/u)
})

test('the prompt has the ids that a served model gets', () => {
  const { ids, isAssistant } = tokenizer.encodeChat({ messages: [user, answer] })
  const prompt = tokenizer.encode(goldens.no_thinking_prompt)
  expect(ids.slice(0, prompt.length)).toEqual(prompt)
  expect(isAssistant.indexOf(true)).toBe(prompt.length)
  expect(tokenizer.decode(ids.filter((_, i) => isAssistant[i] === true))).toBe('12 - 5 = 7<|im_end|>\n')
})

test('rejects a template whose turns cannot be located', () => {
  const odd = compileChatTemplate(
    '{{ messages | length }}{% for m in messages %}[{{ m.content | reverse }}]{% endfor %}',
    {},
  )
  expect(() => odd.pieces({ messages: [user, answer, user, answer] })).toThrow(
    'cannot find where message 2 of 4 starts or ends in the output of the chat template; use a ' +
      'template with {% generation %}',
  )
})

test('reports a template’s own rejection and its syntax errors', () => {
  const strict = compileChatTemplate(
    "{% if messages[0].role != 'user' %}{{ raise_exception('roles must alternate') }}{% endif %}{{ " +
      'bos_token }}',
    { bos_token: '<s>' },
  )
  expect(() => strict.render({ messages: [answer] })).toThrow(
    'the chat template rejects the conversation: roles must alternate',
  )
  expect(strict.render({ messages: [user] })).toBe('<s>')
  expect(() => compileChatTemplate('{% for %}', {})).toThrow('invalid chat template')
})

test('reads the template from its own file, or from the configuration by name', async () => {
  const inside = await mkdtemp(join(directory, 'model-'))
  await cp(reference, inside, { recursive: true })
  await rm(join(inside, 'chat_template.jinja'))
  expect((await loadTokenizer(inside)).chat).toBeUndefined()
  expect(() => tokenizer.encodeChat({ messages: [user] })).not.toThrow()
  const base = await loadTokenizer(inside)
  expect(() => base.encodeChat({ messages: [user] })).toThrow('the model has no chat template')
  await writeFile(
    join(inside, 'tokenizer_config.json'),
    JSON.stringify({
      eos_token: { content: '<|im_end|>' },
      chat_template: [
        { name: 'tool_use', template: 'T' },
        { name: 'default', template: 'D{{ eos_token }}' },
      ],
    }),
  )
  const named = (await loadTokenizer(inside)).chat
  expect(named?.render({ messages: [user] })).toBe('D<|im_end|>')
  expect(named?.render({ messages: [user], tools: [{ type: 'function' }] })).toBe('T')
})

test('reads named templates from every place where transformers finds one', async () => {
  const inside = await mkdtemp(join(directory, 'model-'))
  await cp(reference, inside, { recursive: true })
  await rm(join(inside, 'chat_template.jinja'))
  const rendered = async (tools?: unknown[]) =>
    (await loadTokenizer(inside)).chat?.render({ messages: [user], ...(tools ? { tools } : {}) })
  await writeFile(join(inside, 'chat_template.json'), JSON.stringify({ chat_template: 'J' }))
  expect(await rendered()).toBe('J')
  await writeFile(join(inside, 'tokenizer_config.json'), JSON.stringify({ chat_template: 'C' }))
  expect(await rendered()).toBe('C')
  await mkdir(join(inside, 'additional_chat_templates'))
  await writeFile(join(inside, 'additional_chat_templates/tool_use.jinja'), 'A')
  await expect(rendered()).rejects.toThrow('no default chat template, only tool_use')
  await writeFile(join(inside, 'chat_template.jinja'), 'F')
  expect(await rendered()).toBe('F')
  expect(await rendered([])).toBe('A')
  expect((await loadTokenizer(inside, 'G')).chat?.render({ messages: [user], tools: [] })).toBe('G')
})

test('a conversation of a SentencePiece model has the ids of its whole text', async () => {
  const inside = await mkdtemp(join(directory, 'pieces-'))
  const letters = ['<unk>', '<s>', '</s>', '▁', ...'Qhiyes:\n'.replaceAll('\n', ''), '<0x0A>', '▁y', '▁h']
  await writeFile(
    join(inside, 'tokenizer.json'),
    JSON.stringify({
      added_tokens: ['<unk>', '<s>', '</s>'].map((content, id) => ({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      })),
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '▁' },
          { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
        ],
      },
      pre_tokenizer: null,
      post_processor: null,
      decoder: { type: 'Sequence', decoders: [{ type: 'ByteFallback' }, { type: 'Fuse' }] },
      model: {
        type: 'BPE',
        unk_token: '<unk>',
        fuse_unk: true,
        byte_fallback: true,
        vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])),
        merges: ['▁ y', '▁ h'],
      },
    }),
  )
  const template = '{% for m in messages %}{{ m.content }}:\n{% endfor %}'
  const pieces = await loadTokenizer(inside, template)
  const chat = { messages: [user, answer].map((message, i) => ({ ...message, content: i ? 'yes' : 'hi' })) }
  const { ids, isAssistant } = pieces.encodeChat(chat)
  expect(ids).toEqual(pieces.encode(pieces.chat?.render(chat) ?? ''))
  expect(pieces.decode(ids.filter((_, i) => isAssistant[i]))).toBe('yes:\n')
})

test('rejects a directory with a missing or damaged tokenizer', async () => {
  const inside = await mkdtemp(join(directory, 'bad-'))
  await expect(loadTokenizer(inside)).rejects.toThrow(
    'tokenizer.json: no such file; only tokenizers with a tokenizer.json are supported',
  )
  await writeFile(join(inside, 'tokenizer.json'), '{"model":')
  await expect(loadTokenizer(inside)).rejects.toThrow('tokenizer.json: not JSON')
  await writeFile(join(inside, 'tokenizer.json'), '{}')
  await expect(loadTokenizer(inside)).rejects.toThrow('invalid tokenizer')
})
