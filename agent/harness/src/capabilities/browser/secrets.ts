/**
 * Secrets that the agent may use but not read: it writes `{{secret:name}}`, and the value is inserted only if
 * the field's frame belongs to one of the secret's origins.
 */
import type { Config } from '@cairn/protocol'
import type { BrowserSecrets } from './sensitive-fields.ts'
import type { SessionBrowser } from './session-browser.ts'

export function readSecrets(
  config: Config['browser']['secrets'],
  env: Readonly<Record<string, string | undefined>>,
): BrowserSecrets {
  return new Map(
    Object.entries(config).map(([name, { value_env, origins }]) => {
      const value = env[value_env]
      if (value === undefined)
        throw new Error(`browser.secrets.${name}: the environment variable ${value_env} is not set`)
      return [name, { value, origins }]
    }),
  )
}

const MARK = /\{\{secret:([\w.-]+)\}\}/g

type Field = { target?: unknown; text?: unknown; value?: unknown }

/** The arguments with values in place of placeholders; the recorded call keeps the placeholders. */
export async function withSecrets(
  browser: SessionBrowser,
  tool: string,
  args: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  if (tool === 'browser_type' && typeof args['text'] === 'string')
    return { ...args, text: await fill(browser, args, args['text']) }
  if (tool !== 'browser_fill_form' || !Array.isArray(args['fields'])) return args
  const fields = await Promise.all(
    (args['fields'] as Field[]).map(async field =>
      typeof field.value === 'string' ? { ...field, value: await fill(browser, field, field.value) } : field,
    ),
  )
  return { ...args, fields }
}

async function fill(browser: SessionBrowser, { target }: Field, text: string): Promise<string> {
  const names = [...text.matchAll(MARK)].map(([, name]) => String(name))
  if (names.length === 0) return text
  const origin = await browser.originOf(String(target))
  const values = new Map<string, string>()
  for (const name of names) {
    const secret = browser.secrets.get(name)
    if (secret === undefined) throw new Error(`unknown secret '${name}'`)
    if (!secret.origins.includes(origin))
      throw new Error(`secret '${name}' is not allowed on ${origin}; allowed: ${secret.origins.join(', ')}`)
    browser.conceal(secret.value)
    values.set(name, secret.value)
  }
  return text.replaceAll(MARK, (_, name: string) => values.get(name) ?? '')
}
