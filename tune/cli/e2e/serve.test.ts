/** `cairn-tune serve` as the evaluation of the specification starts it. */
import { afterAll, expect, test } from 'vitest'
import { createDirectory, run, start } from './program.ts'

const directory = createDirectory()
afterAll(() => directory.remove())

test('serves a model with the options of the specification until Ctrl-C', async () => {
  const model = directory.path('model')
  expect((await run(['model', 'new', model])).code).toBe(0)
  const args = [
    'serve',
    model,
    '--max-model-len',
    '2048',
    '--max-lora-rank',
    '64',
    '--enable-lora',
    '--port',
    '0',
    '--threads',
    '1',
    '--kv-cache-memory',
    '64MiB',
    '--json',
  ]
  const server = start(args, { VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' })
  let said = ''
  await server.waitForOutput(out => {
    said = out
    return out.includes('\n')
  })
  const { url } = JSON.parse(said) as { url: string }
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  const reply = (await (
    await post('/v1/completions', { model, prompt: 'Ana', max_tokens: 4, temperature: 0 })
  ).json()) as { choices: object[] }
  expect(reply.choices).toHaveLength(1)
  expect(
    (await post('/v1/load_lora_adapter', { lora_name: 'a', lora_path: directory.path('nowhere') })).status,
  ).toBe(404)
  server.child.kill('SIGINT')
  const { code } = await server.ended
  expect([0, 130]).toContain(code)
})

test.each([
  [['serve'], 'expected MODEL'],
  [['serve', 'x', '--lora-modules', 'a=b'], '--lora-modules needs --enable-lora'],
  [['serve', 'x', '--enable-lora', '--lora-modules', 'a'], '--lora-modules must be NAME=DIR or'],
  [
    ['serve', 'MODEL', '--enable-lora', '--lora-modules', 'a=nowhere', '--port', '0'],
    'Loading lora a failed: No adapter found for nowhere',
  ],
  [['serve', 'MODEL', '--port', '70000'], '--port must be between 0 and 65535, got 70000'],
  [['serve', 'MODEL', '--host', 'nowhere.invalid'], 'cannot listen on nowhere.invalid, port 8000'],
  [['serve', 'MODEL', '--kv-cache-memory', '900000GiB'], 'exceeds the memory of this machine'],
  [['serve', 'MODEL', '--kv-cache-memory', '1KiB'], 'raise --kv-cache-memory or lower --max-model-len'],
  [['serve', 'MODEL', '--max-model-len', '50000'], '--max-model-len 50000 exceeds the 40960 positions'],
  [
    ['serve', 'MODEL', '--quantization', 'nf4', '--skip-quant-last-layers', '3'],
    '3 layers would stay unchanged, but',
  ],
  [['serve', 'x', '--quantization', 'q9'], '--quantization must be fp8, nvfp4, mxfp4, nf4, got "q9"'],
])('rejects %j', async (args, message) => {
  const { code, err } = await run(args.map(arg => (arg === 'MODEL' ? directory.path('model') : arg)))
  expect(err).toContain(message)
  expect(code).toBe(2)
  expect(err).not.toMatch(/\n\s+at /)
})
