/**
 * Downloads one file of the hub into the cache's blobs: resumed after an interruption, checked by size and
 * hash, visible only when complete.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { writeAll } from './atomic-file.ts'
import { InputError } from './errors.ts'
import { isMissing, makeDirectories } from './fs-errors.ts'
import { HubUnreachable, ask, type Hub, type RemoteFile } from './hub-api.ts'
import { isFile } from './hub-cache.ts'

export type Progress = (done: { name: string; receivedBytes: number; totalBytes: number }) => void
export type Retry = { attempts: number; wait: (attempt: number) => Promise<void> }

/**
 * Retries requests that the hub did not answer. Attempts that made progress do not count: a large file may be
 * interrupted any number of times.
 */
export async function withRetry<T>(
  retry: Retry,
  act: () => Promise<T>,
  measure: () => Promise<number> = () => Promise.resolve(0),
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const before = await measure()
    try {
      return await act()
    } catch (error) {
      if ((await measure()) > before) attempt = 1
      if (!(error instanceof HubUnreachable) || attempt >= retry.attempts) throw error
      await retry.wait(attempt)
    }
  }
}

/** Downloads a file unless the cache has it; returns the blob's path. */
export async function downloadBlob(
  hub: Hub,
  folder: string,
  file: RemoteFile,
  retry: Retry,
  onProgress: Progress,
): Promise<string> {
  const blob = join(folder, 'blobs', file.etag)
  if (await isFile(blob)) return blob
  await makeDirectories(join(folder, 'blobs'))
  const partial = `${blob}.incomplete`
  await withRetry(
    retry,
    () => receive(hub, file, partial, onProgress),
    () => sizeOf(partial),
  )
  await checkHash(file, partial)
  await rename(partial, blob)
  return blob
}

const sizeOf = (path: string) =>
  stat(path).then(
    ({ size }) => size,
    (error: unknown) => {
      if (isMissing(error)) return 0
      throw error
    },
  )

/** Appends the missing bytes. Throws HubUnreachable if the connection ends early; received bytes are kept. */
async function receive(hub: Hub, file: RemoteFile, partial: string, onProgress: Progress): Promise<void> {
  let received = await sizeOf(partial)
  if (received > file.bytes) {
    await rm(partial)
    received = 0
  }
  if (received === file.bytes && received > 0) return
  const reply = await ask(hub, file.url, {
    headers: { 'accept-encoding': 'identity', ...(received > 0 ? { range: `bytes=${received}-` } : {}) },
  })
  if (!reply.ok) {
    await reply.body?.cancel()
    throw new InputError(`${file.url}: returned ${reply.status}`)
  }
  const continues =
    reply.status === 206 && reply.headers.get('content-range')?.startsWith(`bytes ${received}-`) === true
  if (!continues) received = 0
  const handle = await open(partial, continues ? 'a' : 'w')
  try {
    for await (const chunk of chunksOf(reply, file)) {
      await writeAll(handle, chunk)
      received += chunk.byteLength
      onProgress({ name: file.name, receivedBytes: received, totalBytes: file.bytes })
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (received !== file.bytes)
    throw new HubUnreachable(`${file.url}: ended after ${received} of ${file.bytes} bytes`)
}

async function* chunksOf(reply: Response, file: RemoteFile): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of reply.body ?? []) yield chunk
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error
    throw new HubUnreachable(`${file.url}: connection lost`, { cause: error })
  }
}

/**
 * Large files are named by SHA-256; small ones as git names them. Other names say nothing about the content.
 */
async function checkHash(file: RemoteFile, partial: string): Promise<void> {
  const isSha256 = /^[0-9a-f]{64}$/.test(file.etag)
  if (!isSha256 && !/^[0-9a-f]{40}$/.test(file.etag)) return
  const hash = isSha256 ? createHash('sha256') : createHash('sha1').update(`blob ${file.bytes}\0`)
  for await (const chunk of createReadStream(partial)) hash.update(chunk as Uint8Array)
  const found = hash.digest('hex')
  if (found === file.etag) return
  await rm(partial)
  throw new InputError(
    `${file.url}: damaged download: its hash is ${found}, expected ${file.etag}; ` +
      'the received data was deleted',
  )
}
