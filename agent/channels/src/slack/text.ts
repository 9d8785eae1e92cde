/**
 * Converts Slack's mrkdwn to the text that a person sees, and back:
 * https://docs.slack.dev/messaging/formatting-message-text
 */

const TOKEN = /<([^<>\n]+)>/g

/** Removes mentions of `bot`, which only address it. */
export function plainText(text: string, bot: string | null): string {
  const shown = text.replace(TOKEN, (_whole, inner: string) => {
    const [target = '', label] = splitOnce(inner, '|')
    if (bot !== null && target === `@${bot}`) return ''
    if (target.startsWith('@')) return `@${label ?? target.slice(1)}`
    if (target.startsWith('#')) return `#${label ?? target.slice(1)}`
    if (target.startsWith('!')) return label ?? `@${target.slice(1).split('^')[0]}`
    return label === undefined || label === target ? target : `${label} (${target})`
  })
  return shown.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&').trim()
}

/** Escapes text for mrkdwn. */
export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export const mentions = (text: string, bot: string): boolean =>
  text.includes(`<@${bot}>`) || text.includes(`<@${bot}|`)

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
