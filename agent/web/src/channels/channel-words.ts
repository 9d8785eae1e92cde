/** Plain words for platforms, states and what to do about them. Pure. */
import type { Channel, Field } from './channel-queries.ts'

/** What to do on the platform before the form can be filled in. */
const STEPS: Partial<Record<string, readonly string[]>> = {
  webhook: [
    'Your program takes signed requests at an https address: the callback URL.',
    'It signs what it sends here with the same secret; the path stands on the card once this is saved.',
  ],
  slack: [
    'Make an app at api.slack.com/apps from the manifest in the documentation, and install it.',
    'Copy the bot token (xoxb-…). For socket mode also make an app-level token with connections:write.',
  ],
  telegram: [
    'Write /newbot to @BotFather and copy the token.',
    'For groups: /setprivacy, Disable, if all messages are to be read.',
  ],
  whatsapp: [
    'Make a Meta app with WhatsApp, and a system user with a token that does not expire.',
    'Enter the webhook path of the card there, with the verify token that you choose here.',
  ],
  website: ['List the sites that may show the widget; its script tag stands in the documentation.'],
  discord: [
    'Make an application at discord.com/developers, with a bot, and copy the bot token.',
    'Switch on the message content intent there.',
    'Invite the bot with the scopes bot and applications.commands.',
  ],
}
export const stepsOf = (platform: string): readonly string[] => STEPS[platform] ?? []

const NAMES: Partial<Record<string, string>> = {
  webhook: 'Signed webhook',
  website: 'Website widget',
  whatsapp: 'WhatsApp',
}
export const platformName = (platform: string): string =>
  NAMES[platform] ?? platform.charAt(0).toUpperCase() + platform.slice(1)

/** `bot_token` → Bot token, `disclosure.level` → Disclosure: level. */
export function fieldLabel({ key }: Pick<Field, 'key'>): string {
  const [first = '', ...rest] = key.replaceAll('_', ' ').split('.')
  const name = first.charAt(0).toUpperCase() + first.slice(1)
  return (rest.length === 0 ? name : `${name}: ${rest.join(' ')}`).replace(/\burl\b/i, 'URL')
}

const STATES: Record<string, string> = {
  connecting: 'Connecting',
  live: 'Live',
  degraded: 'Something was not taken',
  conflict: 'Somebody else receives',
  broken: 'Does not work',
  disabled: 'Disabled',
}
export const stateName = (state: string): string => STATES[state] ?? state

/** What somebody may do about the state of a connection; null: nothing is wrong. */
export function fixOf({ state, origin, removed, last_error }: Channel): string | null {
  if (removed)
    return 'cairn.yaml names it no more. Nothing comes in or goes out; delete it, or name it again.'
  switch (state) {
    case 'broken':
      return origin === 'page'
        ? 'Correct its settings or secrets and save; or try it anew when the platform is mended.'
        : 'Correct it in cairn.yaml or its environment variables, and start the service again.'
    case 'conflict':
      return 'Another program receives with the same credentials: end that one, or make new credentials.'
    case 'degraded':
      return 'Look at the dead letters below: each says why it was refused, and can be sent again.'
    case 'disabled':
      return last_error === null
        ? 'Somebody has disabled it. Nothing comes in or goes out.'
        : 'The platform wants nothing more of it. Correct what it names, then enable it.'
    case 'connecting':
      return last_error === null ? null : 'It is tried again by itself, at growing intervals.'
    default:
      return null
  }
}
