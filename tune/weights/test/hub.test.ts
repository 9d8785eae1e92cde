import { lstat, mkdir, mkdtemp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hubCacheRoot, hubToken } from '../src/hub-cache.ts'
import { resolveRepo } from '../src/hub.ts'
import { encodeFloats } from '../src/float-values.ts'
import { writeSafetensors } from '../src/safetensors-writer.ts'
import { startFakeHub } from './fake-hub.ts'

let directory: string
let cache: string
let files: Record<string, Uint8Array>
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-hub-'))
  const path = join(directory, 'w.safetensors')
  await writeSafetensors(path, [
    {
      name: 'w',
      dtype: 'F32',
      shape: [5000],
      bytes: encodeFloats(
        'F32',
        Float32Array.from({ length: 5000 }, (_, i) => i),
      ),
    },
  ])
  files = {
    'config.json': new TextEncoder().encode('{"model_type":"qwen3"}'),
    'model.safetensors': new Uint8Array(await readFile(path)),
    'pytorch_model.bin': new Uint8Array(9),
    'onnx/model.safetensors': new Uint8Array(9),
  }
})
beforeEach(async () => {
  cache = await mkdtemp(join(directory, 'cache-'))
})
afterAll(() => rm(directory, { recursive: true }))

const retry = { attempts: 6, wait: () => Promise.resolve() }
const envOf = (url: string) => ({ HF_HUB_CACHE: cache, HF_ENDPOINT: url, HF_HOME: cache })
const id = 'org/tiny'

test('downloads the useful files in the layout of the hub’s own cache', async () => {
  await using hub = await startFakeHub({ files, id })
  const seen: number[] = []
  const path = await resolveRepo('model', id, {
    env: envOf(hub.url),
    onProgress: ({ receivedBytes }) => seen.push(receivedBytes),
  })
  const folder = join(cache, 'models--org--tiny')
  expect(path).toBe(join(folder, 'snapshots', hub.commit))
  expect((await readdir(path)).toSorted()).toEqual(['config.json', 'model.safetensors'])
  expect(await readFile(join(folder, 'refs', 'main'), 'utf8')).toBe(hub.commit)
  expect((await lstat(join(path, 'model.safetensors'))).isSymbolicLink()).toBe(true)
  expect(await readlink(join(path, 'model.safetensors'))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/)
  expect(await readlink(join(path, 'config.json'))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/)
  expect(await readFile(join(path, 'model.safetensors'))).toEqual(Buffer.from(files['model.safetensors']!))
  expect(seen.at(-1)).toBe(files['model.safetensors']!.byteLength)

  const asked = hub.requests.length
  expect(await resolveRepo('model', id, { env: envOf(hub.url) })).toBe(path)
  expect(hub.requests.length).toBe(asked)
})

test('a repeatedly interrupted download resumes where it stopped', async () => {
  await using hub = await startFakeHub({ files, id })
  hub.cuts.push(0, 10, 7000, 8000)
  const path = await resolveRepo('model', id, { env: envOf(hub.url), retry, onProgress: hub.cutNow })
  expect(await readFile(join(path, 'model.safetensors'))).toEqual(Buffer.from(files['model.safetensors']!))
  const ranges = hub.requests.filter(line => line.startsWith('GET') && line.includes('model.safetensors'))
  expect(ranges.some(line => /bytes=\d+-$/.test(line))).toBe(true)
})

test('the next download resumes a failed one', async () => {
  await using hub = await startFakeHub({ files, id })
  hub.cuts.push(7000)
  await expect(
    resolveRepo('model', id, {
      env: envOf(hub.url),
      retry: { ...retry, attempts: 1 },
      onProgress: hub.cutNow,
    }),
  ).rejects.toThrow(/the download failed: .*(connection lost|ended after)/)
  const blobs = join(cache, 'models--org--tiny', 'blobs')
  expect((await readdir(blobs)).some(name => name.endsWith('.incomplete'))).toBe(true)
  const path = await resolveRepo('model', id, { env: envOf(hub.url), retry, onProgress: hub.cutNow })
  expect(await readFile(join(path, 'model.safetensors'))).toEqual(Buffer.from(files['model.safetensors']!))
  expect((await readdir(blobs)).some(name => name.endsWith('.incomplete'))).toBe(false)
  expect(hub.requests.at(-1)).toMatch(/^GET .*model.safetensors bytes=\d+-$/)
})

test('downloads the whole file again if the server ignores ranges', async () => {
  await using hub = await startFakeHub({ files, id, ignoresRange: true })
  hub.cuts.push(7000)
  const path = await resolveRepo('model', id, { env: envOf(hub.url), retry, onProgress: hub.cutNow })
  expect(await readFile(join(path, 'model.safetensors'))).toEqual(Buffer.from(files['model.safetensors']!))
})

test.each(['model.safetensors', 'config.json'])(
  'rejects and deletes %s if the download is damaged',
  async name => {
    await using hub = await startFakeHub({ files, id })
    hub.corrupt(name)
    await expect(resolveRepo('model', id, { env: envOf(hub.url), retry })).rejects.toThrow(
      /damaged download: its hash is [0-9a-f]+, expected/,
    )
    expect(
      (await readdir(join(cache, 'models--org--tiny', 'blobs'))).filter(file => file.endsWith('.incomplete')),
    ).toEqual([])
  },
)

test('completes a partial snapshot', async () => {
  await using hub = await startFakeHub({ files, id })
  const path = await resolveRepo('model', id, { env: envOf(hub.url) })
  await rm(
    join(
      cache,
      'models--org--tiny',
      'blobs',
      await readlink(join(path, 'model.safetensors')).then(link => link.split('/').at(-1) ?? ''),
    ),
  )
  expect(await resolveRepo('model', id, { env: envOf(hub.url) })).toBe(path)
  expect(await readFile(join(path, 'model.safetensors'))).toEqual(Buffer.from(files['model.safetensors']!))
})

test('data sets have their own folder and routes', async () => {
  const data = new TextEncoder().encode('{"question":"?","answer":"#### 1"}\n')
  await using hub = await startFakeHub({
    files: { 'data/train.jsonl': data, 'README.md': data },
    id,
    prefix: 'datasets/',
    large: /never/,
  })
  const path = await resolveRepo('dataset', id, { env: envOf(hub.url) })
  expect(path).toContain('datasets--org--tiny')
  expect(await readlink(join(path, 'data', 'train.jsonl'))).toMatch(/^\.\.\/\.\.\/\.\.\/blobs\//)
  expect(await readFile(join(path, 'data', 'train.jsonl'), 'utf8')).toContain('#### 1')
})

test('a private model requires a token and downloads with a valid one', async () => {
  await using hub = await startFakeHub({ files, id, token: 'hf_x' })
  await expect(resolveRepo('model', id, { env: envOf(hub.url) })).rejects.toThrow(
    /rejected model org\/tiny \(revision main\) with 401: it does not exist or needs access; set HF_TOKEN/,
  )
  await expect(resolveRepo('model', id, { env: { ...envOf(hub.url), HF_TOKEN: 'wrong' } })).rejects.toThrow(
    'the token has no access',
  )
  expect(await resolveRepo('model', id, { env: { ...envOf(hub.url), HF_TOKEN: 'hf_x' } })).toContain(
    'snapshots',
  )
})

test('without a network the error names the cache path', async () => {
  const env = envOf('http://127.0.0.1:9')
  const folder = join(cache, 'models--org--tiny', 'snapshots')
  const refused = resolveRepo('model', id, {
    env,
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ENETUNREACH') })),
  })
  await expect(refused).rejects.toThrow(
    `model org/tiny: not complete in the hub cache (${folder}), and the download failed: ` +
      'cannot reach http://127.0.0.1:9 (ENETUNREACH)',
  )
  await expect(resolveRepo('model', id, { env: { ...env, HF_HUB_OFFLINE: '1' } })).rejects.toThrow(
    'HF_HUB_OFFLINE forbids downloading it',
  )
})

test('rejects an argument that is neither a directory nor a valid name', async () => {
  const env = envOf('http://127.0.0.1:9')
  await expect(resolveRepo('model', './nowhere/at/all', { env })).rejects.toThrow(
    'not a directory, and not a name on the hub',
  )
  await expect(resolveRepo('model', '../no-such-directory', { env })).rejects.toThrow('not a directory')
  await expect(resolveRepo('model', id, { env, revision: '../../x' })).rejects.toThrow(
    'must be a branch, a tag or a commit',
  )
  expect(await resolveRepo('model', directory, { env })).toBe(directory)
})

test('rejects a file name outside the snapshot', async () => {
  await using hub = await startFakeHub({ files: { '../model.safetensors': new Uint8Array(1) }, id })
  await expect(resolveRepo('model', id, { env: envOf(hub.url) })).rejects.toThrow(
    'has a file with the invalid name "../model.safetensors"',
  )
})

test('finds cache and token through the environment with the precedence of the hub’s own client', async () => {
  const home = { XDG_CACHE_HOME: '/xdg' }
  expect(hubCacheRoot(home)).toBe('/xdg/huggingface/hub')
  expect(hubCacheRoot({ ...home, HF_HOME: '/hf' })).toBe('/hf/hub')
  expect(hubCacheRoot({ ...home, HF_HOME: '/hf', HUGGINGFACE_HUB_CACHE: '/old' })).toBe('/old')
  expect(hubCacheRoot({ ...home, HF_HOME: '/hf', HUGGINGFACE_HUB_CACHE: '/old', HF_HUB_CACHE: '/new' })).toBe(
    '/new',
  )
  await mkdir(join(cache, 'home'))
  await writeFile(join(cache, 'home', 'token'), 'hf_file\n')
  expect(await hubToken({ HF_HOME: join(cache, 'home') })).toBe('hf_file')
  expect(await hubToken({ HF_HOME: join(cache, 'home'), HF_TOKEN: 'hf_env' })).toBe('hf_env')
  expect(await hubToken({ HF_HOME: cache })).toBe(undefined)
})
