/**
 * Writes an image as the archive of `docker save`, without a container tool and without a registry. Docker,
 * Podman and containerd load it. Podman would drop the health check of an OCI layout.
 */
import { execFileSync } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'
import {
  cpSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { ImageConfig, Layer } from './containerfile.ts'

export type Image = {
  /** `cairn:0.1.0` */
  tag: string
  architecture: 'amd64'
  layers: readonly Layer[]
  config: ImageConfig
  labels: Readonly<Record<string, string>>
  /** Seconds since 1970, for every file that the build creates. */
  created: number
}

type WrittenLayer = {
  /** Path in the archive. */
  path: string
  /** Digest of the tar archive before compression. */
  diffId: string
  bytes: number
}

/** Writes the image with the files of `context` to `file`. Returns the bytes of its files. */
export async function writeImage(image: Image, context: string, file: string): Promise<{ bytes: number }> {
  mkdirSync(dirname(file), { recursive: true })
  const work = mkdtempSync(`${file}.draft-`)
  try {
    const layout = join(work, 'layout')
    mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
    const layers: WrittenLayer[] = []
    for (const layer of image.layers) layers.push(await writeLayer(layer, image.created, context, layout))
    writeDescriptions(image, layers, layout)
    writeTar(layout, join(work, 'image.tar'), image.created)
    renameSync(join(work, 'image.tar'), file)
    return { bytes: layers.reduce((sum, { bytes }) => sum + bytes, 0) }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Sorted names, one time and no owners, so that equal files give equal bytes. */
function writeTar(folder: string, file: string, created: number): void {
  const fixed = ['--sort=name', `--mtime=@${created}`, '--owner=0', '--group=0', '--numeric-owner']
  execFileSync('tar', ['--format=gnu', ...fixed, '--mode=u=rwX,go=rX', '-cf', file, '-C', folder, '.'])
}

async function writeLayer(
  layer: Layer,
  created: number,
  context: string,
  layout: string,
): Promise<WrittenLayer> {
  const source = join(context, layer.from)
  if (layer.kind === 'archive') return compress(source, layout)
  const work = mkdtempSync(join(layout, '../layer-'))
  const target = join(work, 'files', layer.to)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(source, target, { recursive: true })
  writeTar(join(work, 'files'), join(work, 'layer.tar'), created)
  const blob = await compress(join(work, 'layer.tar'), layout)
  rmSync(work, { recursive: true })
  return blob
}

async function compress(tar: string, layout: string): Promise<WrittenLayer> {
  const draft = join(layout, '../layer.gz')
  const [raw, packed] = [createHash('sha256'), createHash('sha256')]
  await pipeline(
    createReadStream(tar, { highWaterMark: 2 ** 20 }),
    hashing(raw),
    createGzip({ level: 6 }),
    hashing(packed),
    createWriteStream(draft),
  )
  const path = blobPath(packed.digest('hex'))
  renameSync(draft, join(layout, path))
  return { path, diffId: `sha256:${raw.digest('hex')}`, bytes: statSync(tar).size }
}

const blobPath = (hex: string): string => `blobs/sha256/${hex}`

const hashing = (hash: Hash): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })

function writeDescriptions(
  { tag, architecture, layers, config, labels, created }: Image,
  written: readonly WrittenLayer[],
  layout: string,
): void {
  const time = new Date(created * 1000).toISOString()
  const text = JSON.stringify({
    created: time,
    architecture,
    os: 'linux',
    config: { ...config, Labels: labels },
    rootfs: { type: 'layers', diff_ids: written.map(({ diffId }) => diffId) },
    history: layers.map(({ instruction }) => ({ created: time, created_by: instruction })),
  })
  const path = blobPath(createHash('sha256').update(text).digest('hex'))
  writeFileSync(join(layout, path), text)
  const manifest = [{ Config: path, RepoTags: [tag], Layers: written.map(layer => layer.path) }]
  writeFileSync(join(layout, 'manifest.json'), JSON.stringify(manifest))
}
