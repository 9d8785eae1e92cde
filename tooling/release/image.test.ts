/** The parts of an image that need no Debian packages: Containerfiles, the archive and the health check. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../workspace.ts'
import { readContainerfile } from './containerfile.ts'
import { type Image, writeImage } from './image-archive.ts'
import { installedFolders, readVariants, VARIANTS } from './image.ts'

const container = join(root, 'deploy/container')

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-image-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test('the Containerfiles have the layers and the settings of the images', () => {
  const { layers, config } = readContainerfile(readFileSync(join(container, 'Containerfile'), 'utf8'))
  expect(layers.map(({ from }) => from)).toEqual(['rootfs.tar', 'node', 'app'])
  expect(config).toMatchObject({
    User: '10001:10001',
    ExposedPorts: { '8787/tcp': {} },
    Volumes: { '/data': {}, '/workspaces': {} },
    Cmd: ['serve'],
    Healthcheck: { Interval: 10e9, Timeout: 3e9, StartPeriod: 30e9 },
  })
  expect(config.Env).toContain('CAIRN_DATA=/data')
  expect(config.Entrypoint?.[0]).toBe('/usr/bin/tini')
  const tune = readContainerfile(readFileSync(join(container, 'Containerfile.tune'), 'utf8'))
  expect(tune.config).toMatchObject({ User: '10001:10001', WorkingDir: '/work', Volumes: { '/work': {} } })
})

test.each([
  'RUN true',
  'FROM debian',
  'ADD https://example.org/x /',
  'CMD serve',
  'COPY a b c',
  'HEALTHCHECK NONE',
])('refuses %s, which the images do not use', instruction =>
  expect(() => readContainerfile(instruction)).toThrow(`unsupported instruction "${instruction}"`),
)

const IMAGE: Image = {
  tag: 'cairn:1.2.3',
  architecture: 'amd64',
  layers: [
    { kind: 'archive', from: 'rootfs.tar', instruction: 'ADD rootfs.tar /' },
    { kind: 'copy', from: 'app', to: '/opt/cairn', instruction: 'COPY app /opt/cairn' },
  ],
  config: { Env: ['A=b'], Cmd: ['serve'] },
  labels: { 'org.opencontainers.image.version': '1.2.3' },
  created: 1_700_000_000,
}

/** Files of an app and a root file system, written at different times. */
function createContext(seconds: number): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'app/deep'), { recursive: true })
  for (const name of ['app/main.mjs', 'app/deep/file']) writeFileSync(join(folder, name), name)
  utimesSync(join(folder, 'app/main.mjs'), seconds, seconds)
  writeFileSync(join(folder, 'rootfs.tar'), Buffer.alloc(10_240))
  return folder
}

test('an archive depends on the contents of its files only, and its paths are digests', async () => {
  const [first, second] = [createContext(1), createContext(2)]
  await writeImage(IMAGE, first, join(first, 'image.tar'))
  await writeImage(IMAGE, second, join(second, 'image.tar'))
  const bytes = readFileSync(join(first, 'image.tar'))
  expect(bytes.equals(readFileSync(join(second, 'image.tar')))).toBe(true)
  expect(readdirSync(first).filter(name => name.includes('draft'))).toEqual([])

  const layout = join(first, 'layout')
  mkdirSync(layout)
  execFileSync('tar', ['-xf', join(first, 'image.tar'), '-C', layout])
  for (const name of readdirSync(join(layout, 'blobs/sha256')))
    expect(
      createHash('sha256')
        .update(readFileSync(join(layout, 'blobs/sha256', name)))
        .digest('hex'),
    ).toBe(name)
  const read = (path: string) => JSON.parse(readFileSync(join(layout, path), 'utf8'))
  const [{ Config, RepoTags, Layers }] = read('manifest.json')
  expect(RepoTags).toEqual(['cairn:1.2.3'])
  expect(read(Config)).toMatchObject({
    config: { Cmd: ['serve'], Labels: IMAGE.labels },
    created: '2023-11-14T22:13:20.000Z',
  })
  const listed = execFileSync('tar', ['-tzf', join(layout, Layers[1])], { encoding: 'utf8' })
  expect(listed.trim().split('\n')).toEqual([
    './',
    './opt/',
    './opt/cairn/',
    './opt/cairn/deep/',
    './opt/cairn/deep/file',
    './opt/cairn/main.mjs',
  ])
})

test('an image with a browser gets the packages that drive it, with the versions that they need', () => {
  const folders = installedFolders(VARIANTS.browser.modules, root).map(folder => relative(root, folder))
  expect(folders).toContain('node_modules/playwright-core')
  expect(folders).toContain('node_modules/@playwright/mcp')
  expect(folders).toContain('node_modules/@playwright/mcp/node_modules/playwright-core')
  expect(() => installedFolders(['no-such-package'], root)).toThrow('no-such-package is not installed')
})

test('names the variants that exist', () => {
  expect(readVariants()).toEqual(['agent'])
  expect(() => readVariants(['gpu'])).toThrow('Unknown variant "gpu": must be one of agent, browser, tune')
})

async function healthOf(port: number): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, [join(container, 'healthcheck.mjs')], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const [stderr, [code]] = await Promise.all([
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return { code, stderr }
}

test('the health check of the image follows /readyz', async () => {
  let status = 200
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? status : 404).end('draining')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(await healthOf(port)).toEqual({ code: 0, stderr: '' })
  status = 503
  expect(await healthOf(port)).toEqual({
    code: 1,
    stderr: `GET http://127.0.0.1:${port}/readyz: status 503: draining\n`,
  })
  server.close()
  await once(server, 'close')
  expect(await healthOf(port)).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') })
})
