/**
 * Prints every text of the page's catalogue and of both command lines, grouped by area: `npm run words`, or
 * `npm run words -- AREA…` for some areas.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './workspace.ts'

type Area = { name: string; lines: readonly string[] }
type Command = {
  name: string
  summary: string
  usage: readonly (readonly [form: string, does: string])[]
  more?: () => string
}

const load = async (path: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(join(root, path)).href)) as Record<string, unknown>

/** A function of the catalogue as its text, with its parameters in braces. */
const textOfFunction = (words: (...args: never[]) => unknown): string =>
  String(words)
    .replace(/\s+/g, ' ')
    .replace(/^\(.*?\)\s*=>\s*/, '')
    .replaceAll(/[`'] \+ [`']/g, '')
    .replaceAll('${', '{')
    .replaceAll('`', '')

/** The strings below a value of the catalogue, each after its key. */
function linesOf(value: unknown, key: string): string[] {
  if (typeof value === 'string') return [`${key}: ${value}`]
  if (typeof value === 'function') return [`${key}: ${textOfFunction(value as () => unknown)}`]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => linesOf(each, key === '' ? name : `${key}.${name}`))
}

async function pageAreas(): Promise<Area[]> {
  const folder = 'agent/web/src/words'
  const files = readdirSync(join(root, folder)).filter(name => name.endsWith('.ts'))
  return Promise.all(
    files.map(async file => {
      const [words] = Object.values(await load(`${folder}/${file}`))
      return { name: `page: ${file.replace('.ts', '')}`, lines: linesOf(words, '') }
    }),
  )
}

const commandArea = (program: string, { name, summary, usage, more }: Command): Area => ({
  name: `${program} ${name}`,
  lines: [
    summary,
    ...usage.map(([form, does]) => `${form.startsWith(' ') ? form : `${program} ${form}`}: ${does}`),
    ...(more === undefined ? [] : more().trimEnd().split('\n')),
  ],
})

async function commandAreas(): Promise<Area[]> {
  const { COMMAND_NAMES, loadCommand } = await load('agent/app/src/cli/commands.ts')
  const { commands } = await load('tune/cli/src/commands.ts')
  const loadOne = loadCommand as (name: string) => Promise<Command>
  const agent = await Promise.all((COMMAND_NAMES as readonly string[]).map(name => loadOne(name)))
  return [
    ...agent.map(command => commandArea('cairn', command)),
    ...(commands as readonly Command[]).map(command => commandArea('cairn-tune', command)),
  ]
}

const wanted = process.argv.slice(2)
const isWanted = ({ name }: Area): boolean => wanted.length === 0 || wanted.some(word => name.includes(word))
const areas = [...(await pageAreas()), ...(await commandAreas())].filter(isWanted)
for (const { name, lines } of areas) console.log([`# ${name}`, ...lines, ''].join('\n'))
const count = areas.reduce((sum, { lines }) => sum + lines.length, 0)
console.log(`${count} texts in ${areas.length} areas`)
