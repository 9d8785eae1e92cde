/**
 * Reads the Containerfiles of deploy/container: instructions that add files, and instructions that write the
 * configuration of the image. Docker and Podman build the same files, so each fact is stated once.
 */

/** What a layer adds: a tar archive unpacked to `/`, or a file or the contents of a folder at `to`. */
export type Layer =
  | { kind: 'archive'; from: string; instruction: string }
  | { kind: 'copy'; from: string; to: string; instruction: string }

/** The part `config` of an image, with the keys of the OCI specification and Docker's health check. */
export type ImageConfig = {
  User?: string
  WorkingDir?: string
  Env: string[]
  ExposedPorts?: Record<string, object>
  Volumes?: Record<string, object>
  Entrypoint?: string[]
  Cmd?: string[]
  Healthcheck?: { Test: string[] } & Record<string, unknown>
}

const NANOSECONDS = 1e9
/** Docker and Podman add it to images that set none. */
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export function readContainerfile(text: string): { layers: Layer[]; config: ImageConfig } {
  const layers: Layer[] = []
  const config: ImageConfig = { Env: [PATH] }
  for (const instruction of text.split('\n').filter(line => line.trim() !== '' && !line.startsWith('#'))) {
    const [, keyword = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(instruction) ?? []
    const words = rest.split(/\s+/)
    const list = (): string[] => parseList(rest, instruction)
    const keys = (names: readonly string[]): Record<string, object> =>
      Object.fromEntries(names.map(name => [name, {}]))
    const instructions: Record<string, () => void> = {
      FROM() {
        if (rest !== 'scratch') throw unsupported(instruction)
      },
      ADD() {
        if (!/^\S+\.tar \/$/.test(rest)) throw unsupported(instruction)
        layers.push({ kind: 'archive', from: words[0] ?? '', instruction })
      },
      COPY() {
        const [from, to, more] = words.filter(word => word !== '--chmod=755')
        if (from === undefined || to === undefined || more !== undefined) throw unsupported(instruction)
        layers.push({ kind: 'copy', from, to, instruction })
      },
      ENV: () => void config.Env.push(...words),
      USER: () => void (config.User = rest),
      WORKDIR: () => void (config.WorkingDir = rest),
      VOLUME: () => void (config.Volumes = keys(list())),
      EXPOSE: () => void (config.ExposedPorts = keys(words.map(port => `${port}/tcp`))),
      HEALTHCHECK: () => void (config.Healthcheck = parseHealthcheck(rest, instruction)),
      ENTRYPOINT: () => void (config.Entrypoint = list()),
      CMD: () => void (config.Cmd = list()),
    }
    const apply = instructions[keyword]
    if (apply === undefined) throw unsupported(instruction)
    apply()
  }
  return { layers, config }
}

const unsupported = (instruction: string): Error =>
  new Error(`[containerfile] unsupported instruction "${instruction}": see the ones in containerfile.ts`)

function parseList(text: string, instruction: string): string[] {
  if (!text.startsWith('[')) throw unsupported(instruction)
  return JSON.parse(text) as string[]
}

function parseHealthcheck(text: string, instruction: string): NonNullable<ImageConfig['Healthcheck']> {
  const [, options = '', command] = /^(.*?)CMD (.*)$/.exec(text) ?? []
  if (command === undefined) throw unsupported(instruction)
  const durations = [...options.matchAll(/--([a-z-]+)=(\d+)s/g)].map(
    ([, name = '', seconds]): [string, number] => [pascalCase(name), Number(seconds) * NANOSECONDS],
  )
  return { Test: ['CMD', ...parseList(command, instruction)], ...Object.fromEntries(durations) }
}

/** `start-period` → `StartPeriod` */
const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
