/** Renders a part for Slack. Pure. */
import type { KnownBlock } from '@slack/web-api'
import type { OutgoingPart } from '../adapter.ts'
import { BUTTONS_A_BLOCK, LABEL } from './limits.ts'
import { ACTION, STOP } from './parse.ts'
import { escapeText } from './text.ts'

/** Characters that Slack shows in a push notification. */
const NOTIFIED = 3_000
/** Mentions in the model's text, which would ping people. */
const CALLS = /<(?=!(?:here|channel|everyone|subteam)\b|@[UW][A-Z0-9]+)/g

export const fallbackText = ({ text, plain }: OutgoingPart): string =>
  escapeText(plain === true ? text : text.slice(0, NOTIFIED))

/** No blocks for plain text, which is used when Slack has rejected the blocks. */
export function blocksOf({ text, prompt, plain, can_stop }: OutgoingPart): KnownBlock[] | undefined {
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
