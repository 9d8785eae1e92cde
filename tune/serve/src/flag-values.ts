/** Parses values of vLLM's flags that have more than one form. */
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'

/** `name=directory`; each adapter may appear once. */
export function readModules(given: readonly string[]): Record<string, string> {
  const modules: Record<string, string> = {}
  for (const text of given) {
    const { name, path } = text.startsWith('{') ? readModule(text) : splitModule(text)
    if (Object.hasOwn(modules, name))
      throw new InputError(`--lora-modules names ${JSON.stringify(name)} twice`)
    modules[name] = path
  }
  return modules
}

function splitModule(text: string): { name: string; path: string } {
  const [, name, path] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (name !== undefined && path !== undefined) return { name, path }
  throw new InputError(
    `--lora-modules must be NAME=DIR or {"name": …, "path": …}, got ${JSON.stringify(text)}`,
  )
}

const moduleSchema = z.strictObject({
  name: z.string().min(1),
  path: z.string().min(1),
  base_model_name: z.string().nullish(),
})

/** vLLM's other form. Its base must be the served one. */
function readModule(text: string): { name: string; path: string } {
  const parsed = moduleSchema.safeParse(parseJson('lora-modules', text))
  if (parsed.success) return parsed.data
  throw new InputError(`--lora-modules ${text}: ${z.prettifyError(parsed.error)}`)
}

function parseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new InputError(`--${option} ${text}: not JSON (${why})`, { cause: error })
  }
}

/** `*`, origins separated by commas, or vLLM's JSON list. */
export function readOrigins(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined
  if (!text.startsWith('[')) return text.split(',').map(origin => origin.trim())
  const parsed = z.array(z.string()).safeParse(parseJson('allowed-origins', text))
  if (parsed.success) return parsed.data
  throw new InputError(`--allowed-origins ${text}: ${z.prettifyError(parsed.error)}`)
}
