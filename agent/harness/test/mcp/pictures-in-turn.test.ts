import { expect, test } from 'vitest'
import { setStage } from '../turn/stage.ts'
import { rejection, type SentBody, startStrictServer } from '../turn/strict-model-server.ts'
import { sound } from './raw-server.ts'
import { startWithRawServer } from './started.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const hasImages = ({ messages }: SentBody): boolean => JSON.stringify(messages).includes('"image_url"')

test.each([
  ['a model that sees is shown', () => null, true],
  [
    'a model that takes none reads only the path of',
    (body: SentBody) => (hasImages(body) ? rejection('unknown variant `image_url`, expected `text`') : null),
    false,
  ],
])('%s the picture of a result, and the turn completes', async (_, check, isShown) => {
  const { mcp } = await startWithRawServer({
    ...sound,
    'tools/call': () => ({ content: [{ type: 'image', mimeType: 'image/png', data: PNG }] }),
  })
  await mcp.ready
  const pay = { tool_calls: [{ index: 0, id: 'call1', function: { name: 'mcp__x__pay', arguments: '{}' } }] }
  await using server = await startStrictServer([pay], check)
  await using stage = await setStage({
    scenario: { rules: [{ answer: { text: 'not asked' } }] },
    config: {
      models: { default: 'strict/m', providers: { strict: { kind: 'openai', base_url: server.url } } },
    },
    mcp,
  })
  stage.start()
  await stage.send('show me')
  await stage.next('session.complete')
  const path = '.cairn/results/call1-1.png'
  expect((await stage.next('tool.result')).data).toMatchObject({
    content: `[image: image/png, 70 bytes, saved as ${path}]`,
    pictures: [{ path, mime_type: 'image/png' }],
  })
  const last = server.sent.at(-1)
  expect(last === undefined ? null : hasImages(last)).toBe(isShown)
  expect(JSON.stringify(last?.messages)).toContain(isShown ? PNG : path)
})
