/**
 * Values of a page's fields that only the person who typed them may read: passwords, codes, cards. Every
 * result of the browser is searched for them before it leaves.
 */
import type { BrowserContext, Frame } from 'playwright-core'

/** Secrets of the configuration by name, and the origins in whose pages they may be entered. */
export type BrowserSecrets = ReadonlyMap<string, { value: string; origins: readonly string[] }>

const AUTOCOMPLETE = ['one-time-code', 'current-password', 'new-password', 'cc-number', 'cc-csc', 'cc-exp']
const NAMES =
  '(?:^|[^a-z])(?:otp|code|pin|cvv|cvc|csc|pass|passwd|password|passcode|pwd|secret|token|2fa|mfa)'
/** Fields that are not secret in a form with such a field. */
const NOT_SECRET = ['username', 'email']

/** Renders the fields as dots, so that no screenshot shows them. */
const STYLE =
  AUTOCOMPLETE.map(name => `input[autocomplete~="${name}"]`).join(', ') +
  ', input[name*="otp" i], input[name*="cvv" i], input[name*="passcode" i], input[id*="otp" i] ' +
  '{ -webkit-text-security: disc !important }'

export const INIT_SCRIPT = `(() => {
  const add = () => {
    const style = document.createElement('style')
    style.textContent = ${JSON.stringify(STYLE)}
    ;(document.head ?? document.documentElement)?.append(style)
  }
  if (document.documentElement) add()
  else document.addEventListener('DOMContentLoaded', add, { once: true })
})()`

/** Runs in the page; returns the values, and whether each stands alone or shares a form with a secret. */
const COLLECT = `(() => {
  const names = new RegExp(${JSON.stringify(NAMES)}, 'i')
  const isSecret = field => {
    const hints = (field.getAttribute('autocomplete') ?? '').toLowerCase().split(/\\s+/)
    const labels = [...(field.labels ?? [])].map(label => label.textContent)
    const said = [field.name, field.id, field.getAttribute('aria-label'), field.placeholder, ...labels]
    return field.type === 'password' || hints.some(hint => ${JSON.stringify(AUTOCOMPLETE)}.includes(hint)) ||
      said.some(text => typeof text === 'string' && names.test(text))
  }
  const isOpen = field => {
    const hints = (field.getAttribute('autocomplete') ?? '').toLowerCase()
    return field.type === 'email' || ${JSON.stringify(NOT_SECRET)}.some(name => hints.includes(name)) ||
      /mail|user|login|account/i.test(field.name + ' ' + field.id)
  }
  const found = new Set()
  const look = root => {
    const fields = [...root.querySelectorAll('input, textarea')].filter(field =>
      !['hidden', 'submit', 'button', 'checkbox', 'radio', 'file', 'image', 'reset'].includes(field.type))
    const forms = new Set(fields.filter(isSecret).map(field => field.form).filter(Boolean))
    for (const field of fields)
      if (field.value !== '' && (isSecret(field) || (forms.has(field.form) && !isOpen(field))))
        found.add(field.value)
    for (const element of root.querySelectorAll('*')) if (element.shadowRoot) look(element.shadowRoot)
  }
  look(document)
  return [...found].slice(0, 200)
})()`

const COLLECT_MS = 2_000

/** Every sensitive value currently in any frame of any page. A frame that does not answer counts as empty. */
export async function collectSensitive(context: BrowserContext): Promise<string[]> {
  const frames = context.pages().flatMap(page => page.frames())
  const late = new Promise<string[]>(resolve => setTimeout(() => resolve([]), COLLECT_MS).unref())
  const ask = (frame: Frame): Promise<string[]> =>
    Promise.race([
      // The frame may navigate or vanish during the query; the next page is queried later.
      (frame.evaluate(COLLECT) as Promise<string[]>).catch(() => []),
      late,
    ])
  const answers = await Promise.all(frames.map(ask))
  return [...new Set(answers.flat())]
}

const HIDDEN = '[hidden]'
/**
 * Minimum length for hiding a value everywhere. Shorter values occur inside words, so they are hidden only
 * where a field shows them.
 */
const MIN_CHARS = 4

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** `text` without the values in plain, URL-encoded and JSON-escaped form. */
export function hideValues(text: string, values: Iterable<string>): string {
  const all = [...values].toSorted((a, b) => b.length - a.length)
  let hidden = text
  for (const value of all) {
    if (value.length < MIN_CHARS) {
      // A field's line in a snapshot: `- textbox "Pin" [ref=e5]: 12`.
      hidden = hidden.replaceAll(
        new RegExp(`^(\\s*- (?:textbox|searchbox|spinbutton|combobox)\\b.*: )"?${escape(value)}"?$`, 'gm'),
        `$1${HIDDEN}`,
      )
      continue
    }
    const spellings = new Set([
      value,
      encodeURIComponent(value),
      encodeURIComponent(value).replaceAll('%20', '+'),
      new URLSearchParams({ v: value }).toString().slice(2),
      JSON.stringify(value).slice(1, -1),
    ])
    for (const spelling of spellings) hidden = hidden.replaceAll(spelling, HIDDEN)
  }
  return hidden
}
