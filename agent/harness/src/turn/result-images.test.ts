import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ConversationEntry, emptyConversation } from '@cairn/state'
import { expect, test } from 'vitest'
import { makeFolder } from '../../test/tools/tool-context.ts'
import { composeMessages } from './prompt.ts'
import { loadResultImages } from './result-images.ts'

/** A PNG with this width; only its header is valid. */
function png(width: number, size = 40): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(1, 20)
  return bytes
}
const workspace = makeFolder('ws')
mkdirSync(join(workspace, '.cairn/results'), { recursive: true })
const save = (name: string, bytes: Buffer) => {
  const path = `.cairn/results/${name}.png`
  writeFileSync(join(workspace, path), bytes)
  return { path, mime_type: 'image/png' as const }
}
let id = 0
const result = (call: string, ...pictures: ReturnType<typeof save>[]): ConversationEntry => ({
  event_id: ++id,
  message: { role: 'tool', tool_call_id: call, content: call },
  ...(pictures.length === 0 ? {} : { pictures }),
})
const asked = (...ids: string[]): ConversationEntry => ({
  event_id: ++id,
  message: {
    role: 'assistant',
    content: '',
    tool_calls: ids.map(call => ({
      id: call,
      type: 'function' as const,
      function: { name: 'f', arguments: '{}' },
    })),
  },
})
const said: ConversationEntry = { event_id: ++id, message: { role: 'user', content: 'look' } }

test("the pictures of an answer's results follow its last result, in the order of the calls", async () => {
  const [first, second] = [save('first', png(1)), save('second', png(2))]
  const conversation = {
    ...emptyConversation,
    entries: [said, asked('a', 'b'), result('b', second), result('a', first), asked('c'), result('c')],
  }
  const messages = composeMessages('S', conversation, [], await loadResultImages(workspace, conversation))
  expect(messages.map(({ role }) => role).join(' ')).toBe(
    'system user assistant tool tool user assistant tool',
  )
  expect(messages[5]).toEqual({
    role: 'user',
    content: `[Pictures of the tool results above, in this order: ${first.path}, ${second.path}]`,
    images: [1, 2].map(width => ({ mime_type: 'image/png', data: png(width).toString('base64') })),
  })
  expect(composeMessages('S', conversation, [])).toHaveLength(7)
})

test('a picture that is gone, replaced, outside, or too large for model servers is left out', async () => {
  const good = save('good', png(8000))
  const entries = [
    asked('a'),
    result(
      'a',
      { path: '.cairn/results/gone.png', mime_type: 'image/png' },
      { path: '../../etc/passwd', mime_type: 'image/png' },
      save('text', Buffer.from('not a picture any more')),
      save('wide', png(8001)),
      save('large', png(1, 4_000_000)),
      good,
    ),
  ]
  const images = await loadResultImages(workspace, { entries })
  expect(images.get('a')?.map(({ path }) => path)).toEqual([good.path])
})

test('the newest ten pictures are shown, as far as a request has room for them', async () => {
  const small = Array.from({ length: 12 }, (_, at) => [
    asked(`s${at}`),
    result(`s${at}`, save(`s${at}`, png(at + 1))),
  ]).flat()
  const shown = await loadResultImages(workspace, { entries: small })
  expect([...shown.keys()]).toEqual(Array.from({ length: 10 }, (_, at) => `s${11 - at}`))
  const large = Array.from({ length: 4 }, (_, at) => [
    asked(`l${at}`),
    result(`l${at}`, save(`l${at}`, png(1, 3_000_000))),
  ]).flat()
  expect([...(await loadResultImages(workspace, { entries: large })).keys()]).toEqual(['l3', 'l2'])
})
