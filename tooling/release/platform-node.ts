/** The Node that package.json pins, for a platform of the release. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Platform } from '../names.ts'
import { root } from '../workspace.ts'
import { packWithNpm } from './npm.ts'

/** The platform of this machine. */
export const OWN_PLATFORM = `linux-${process.arch}` as Platform

/** Path of the binary. npm installs only the one of this machine; another one is downloaded into `cache`. */
export function nodeFor(platform: Platform, cache: string): string {
  const name = `node-${platform}`
  const installed = join(root, 'node_modules', name, 'bin/node')
  if (existsSync(installed)) return installed
  const { version, integrity } = lockedPackage(name)
  const folder = join(cache, `${name}-${version}`)
  const binary = join(folder, 'package/bin/node')
  if (!existsSync(binary)) download(`${name}@${version}`, integrity, folder)
  return binary
}

type Locked = { version: string; integrity: string }

function lockedPackage(name: string): Locked {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const found = packages[`node_modules/${name}`]
  if (found === undefined) throw new Error(`[platform-node] package-lock.json does not contain ${name}`)
  return found
}

function download(spec: string, integrity: string, folder: string): void {
  mkdirSync(dirname(folder), { recursive: true })
  const draft = mkdtempSync(`${folder}.draft-`)
  try {
    const file = join(draft, packWithNpm([spec], draft, draft))
    const received = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
    if (received !== integrity)
      throw new Error(`[platform-node] ${spec} is ${received}, but package-lock.json has ${integrity}`)
    execFileSync('tar', ['-xzf', file, '-C', draft])
    rmSync(file)
    rmSync(folder, { recursive: true, force: true })
    renameSync(draft, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

const TRIPLES: Record<Platform, string> = {
  'linux-x64': 'x86_64-linux-gnu',
  'linux-arm64': 'aarch64-linux-gnu',
}

/** A program of binutils for a platform. Debian prefixes those of other platforms. */
export const toolFor = (platform: Platform, name: string): string =>
  platform === OWN_PLATFORM ? name : `${TRIPLES[platform]}-${name}`
