/**
 * Adapters that replace embeddings, head or norms of their base, as PEFT writes them
 * (reference/make_saved_modules.py): served in one batch, and merged, they give PEFT's log-probabilities.
 */
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { loadAddon } from '@cairn-tune/native'
import { startServer, type RunningServer } from '@cairn-tune/serve'
import type { Completion } from '@cairn-tune/serve/protocol'
import { mergeAdapter } from '@cairn-tune/train'
import { byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'

// A fresh clone compiles the kernels first, which takes longer than the test timeout.
await loadAddon()
const directory = await mkdtemp(join(tmpdir(), 'cairn-saved-'))
afterAll(() => rm(directory, { recursive: true }))
await cp(fileURLToPath(new URL('reference/saved', import.meta.url)), directory, { recursive: true })

const serve = (model: string, options: object = {}) =>
  startServer({
    model,
    servedModelNames: ['base'],
    port: 0,
    threads: 1,
    dtype: 'f32',
    kvCacheBytes: 2 ** 20,
    ...options,
  })

async function logprobsOf(
  { url }: RunningServer,
  model: string,
  prompt: readonly number[],
): Promise<number[]> {
  const body = { model, prompt, max_tokens: 1, temperature: 0, echo: true, logprobs: 0, ignore_eos: true }
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  expect([model, response.status]).toEqual([model, 200])
  const { choices } = (await response.json()) as Completion
  return choices[0]?.logprobs?.token_logprobs.slice(1, prompt.length).map(value => value ?? NaN) ?? []
}
const farthest = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length ? Math.max(...a.map((value, i) => Math.abs(value - (b[i] ?? NaN)))) : Infinity

describe.each(['tied', 'untied'])('a base with %s embeddings', kind => {
  const at = (name: string) => join(directory, kind, name)
  const prepared = (async () => {
    for (const [name, text] of Object.entries(byteTokenizerFiles()))
      await writeFile(join(at('base'), name), text)
    return JSON.parse(await readFile(at('logprobs.json'), 'utf8')) as Record<
      string,
      { ids: number[]; logprobs: number[] }
    >
  })()

  /**
   * Promise T6.5: Adapters that PEFT trained with whole modules, tokens and embeddings give PEFT's
   * probabilities.
   */
  test('served in one batch, every adapter gives the log-probabilities of PEFT', async () => {
    const wanted = await prepared
    const names = Object.keys(wanted)
    expect(names.toSorted()).toEqual(
      (await readdir(join(directory, kind), { withFileTypes: true }))
        .filter(entry => entry.isDirectory() && entry.name !== 'base')
        .map(({ name }) => name)
        .toSorted(),
    )
    const server = await serve(at('base'), {
      enableLora: true,
      maxLoras: 3,
      loraModules: Object.fromEntries(names.map(name => [name, at(name)])),
    })
    const plain = wanted['both']?.ids ?? []
    const before = await logprobsOf(server, 'base', plain)
    const found = await Promise.all(names.map(name => logprobsOf(server, name, wanted[name]?.ids ?? [])))
    for (const [i, name] of names.entries())
      expect(farthest(found[i] ?? [], wanted[name]?.logprobs ?? []), name).toBeLessThan(1e-4)
    expect(await logprobsOf(server, 'base', plain)).toEqual(before)
    await server.close()
  })

  test('merged, every adapter gives the log-probabilities of PEFT', async () => {
    const wanted = await prepared
    for (const [name, { ids, logprobs }] of Object.entries(wanted)) {
      const output = at(`${name}-merged`)
      await mergeAdapter({ base: at('base'), adapter: at(name), output })
      const server = await serve(output)
      // Merged weights are bf16, as the base.
      expect(farthest(await logprobsOf(server, 'base', ids), logprobs), name).toBeLessThan(0.1)
      await server.close()
    }
  })
})
