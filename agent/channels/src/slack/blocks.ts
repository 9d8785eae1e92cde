/** A part as Slack shows it. Pure. */
import type { KnownBlock } from '@slack/web-api'
import type { Part } from '../adapter.ts'
import { BUTTONS_A_BLOCK, LABEL } from './limits.ts'
import { ACTION, STOP } from './parse.ts'

/** What a notification shows of a message. */
const NOTIFIED = 3_000
/** What would call people who were not asked for: the text is a model's. */
const CALLS = /<(?=!(?:here|channel|everyone|subteam)\b|@[UW][A-Z0-9]+)/g

/** The text as Slack reads it where it is no Markdown. */
export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export const fallbackText = ({ text, plain }: Part): string =>
  escapeText(plain === true ? text : text.slice(0, NOTIFIED))

/** None for what is to be plain: Slack has refused its blocks. */
export function blocksOf({ text, prompt, plain, can_stop }: Part): KnownBlock[] | undefined {
  const choices = prompt?.choices ?? []
  if (plain === true) return undefined
  const blocks: KnownBlock[] = [{ type: 'markdown', text: text.replace(CALLS, '<\u200b') }]
  for (let at = 0; at < choices.length; at += BUTTONS_A_BLOCK)
    blocks.push({
      type: 'actions',
      elements: choices.slice(at, at + BUTTONS_A_BLOCK).map(({ value, label }, index) => ({
        type: 'button',
        action_id: `${ACTION}:${at + index}`,
        value,
        text: { type: 'plain_text', text: cutLabel(label) },
      })),
    })
  if (can_stop === true)
    blocks.push({
      type: 'actions',
      elements: [
        {
          type: 'button',
          action_id: `${ACTION}:stop`,
          value: STOP,
          text: { type: 'plain_text', text: 'Stop' },
        },
      ],
    })
  return blocks
}

const cutLabel = (label: string): string => {
  const points = [...label]
  return points.length <= LABEL / 2 || label.length <= LABEL
    ? label
    : `${points.slice(0, LABEL / 2).join('')}…`
}
