/** Adapters with DoRA and rank patterns, in one batch with others: each answers like its merged model. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadAddon } from '@cairn-tune/native'
import { startServer, type RunningServer } from '@cairn-tune/serve'
import type { Completion } from '@cairn-tune/serve/protocol'
import { mergeAdapter } from '@cairn-tune/train'
import { ADAPTERS, writeRandomAdapter, writeRandomModel, type RandomAdapter } from './random-model.ts'

// A fresh clone compiles the kernels first, which takes longer than the test timeout.
await loadAddon()
const directory = await mkdtemp(join(tmpdir(), 'cairn-kinds-'))
afterAll(() => rm(directory, { recursive: true }))
const at = (name: string) => join(directory, name)

const patterns = {
  rank_pattern: { up_proj: 16, 'layers.1.self_attn.q_proj': 2 },
  alpha_pattern: { up_proj: 2, v_proj: 0.25 },
}
const some: RandomAdapter = { rank: 3, modules: ['q_proj', 'v_proj', 'up_proj'], seed: 5 }
const kinds: Record<string, RandomAdapter> = {
  plain: ADAPTERS.wide,
  dora: { ...ADAPTERS.wide, seed: 6, use_dora: true },
  patterns: { ...some, ...patterns },
  both: { ...some, ...patterns, seed: 7, use_dora: true },
}
await writeRandomModel(at('base'), 1, {}, 'F32')
for (const [name, kind] of Object.entries(kinds)) {
  await writeRandomAdapter(at(name), kind)
  await mergeAdapter({ base: at('base'), adapter: at(name), output: at(`${name}-merged`) })
}

const serve = (model: string, dtype: 'f32' | 'bf16' = 'f32', adapters: readonly string[] = []) =>
  startServer({
    model: at(model),
    servedModelNames: ['base'],
    port: 0,
    threads: 1,
    dtype,
    maxModelLen: 64,
    kvCacheBytes: 8 * 2 ** 20,
    enableLora: true,
    maxLoraRank: 16,
    loraModules: Object.fromEntries(adapters.map(name => [name, at(name)])),
  })

async function ask({ url }: RunningServer, model: string): Promise<{ ids: number[]; logprobs: number[] }> {
  const body = { model, prompt: 'Ana are mere', max_tokens: 12, temperature: 0, ignore_eos: true }
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ ...body, echo: true, logprobs: 0, return_token_ids: true }),
    headers: { 'content-type': 'application/json' },
  })
  const { choices } = (await response.json()) as Completion
  const [choice] = choices
  const logprobs = choice?.logprobs?.token_logprobs.flatMap(value => value ?? []) ?? []
  return { ids: choice?.token_ids ?? [], logprobs }
}

/** Promise T6.5: Each kind of adapter, in a mixed batch, answers like its merged model. */
test('in a mixed batch each adapter answers like its merged model, and the base as alone', async () => {
  const names = Object.keys(kinds)
  const together = await serve('base', 'f32', names)
  const found = await Promise.all(['base', ...names].map(name => ask(together, name)))
  await together.close()
  for (const [i, model] of ['base', ...names.map(name => `${name}-merged`)].entries()) {
    const alone = await serve(model)
    const { ids, logprobs } = await ask(alone, 'base')
    await alone.close()
    expect(found[i]?.ids, model).toEqual(ids)
    expect(logprobs.length).toBeGreaterThan(20)
    expect(
      Math.max(...logprobs.map((value, t) => Math.abs(value - (found[i]?.logprobs[t] ?? NaN)))),
      model,
    ).toBeLessThan(2e-3)
    if (i > 0) expect(ids).not.toEqual(found[0]?.ids)
  }
})

test('an adapter without DoRA gives the same bits with and without a DoRA adapter in the batch', async () => {
  const server = await serve('base', 'bf16', ['plain', 'dora'])
  const alone = await ask(server, 'plain')
  const [beside] = await Promise.all([ask(server, 'plain'), ask(server, 'dora')])
  await server.close()
  expect(beside).toEqual(alone)
})
