/**
 * Builds the request for a part. Pure.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages
 */
import type { OutgoingPart } from '../adapter.ts'

/**
 * Three buttons, or ten rows of a list; further choices are answered by number or text, which the message
 * shows.
 */
const BUTTONS = 3
const ROWS = 10
const BUTTON_TITLE = 20
const ROW_TITLE = 24
/** Limit of a message with buttons or a list; longer texts are sent without. */
const BODY = 1024

type Body = Record<string, unknown>

export function messageBody({ text, prompt }: OutgoingPart): Body {
  const choices = prompt?.choices ?? []
  if (choices.length === 0 || choices.length > ROWS || text.length > BODY)
    return { type: 'text', text: { body: text, preview_url: false } }
  return {
    type: 'interactive',
    interactive:
      choices.length <= BUTTONS
        ? {
            type: 'button',
            body: { text },
            action: {
              buttons: choices.map(({ value, label }) => ({
                type: 'reply',
                reply: { id: value, title: cut(label, BUTTON_TITLE) },
              })),
            },
          }
        : {
            type: 'list',
            body: { text },
            action: {
              button: '…',
              sections: [
                { rows: choices.map(({ value, label }) => ({ id: value, title: cut(label, ROW_TITLE) })) },
              ],
            },
          },
  }
}

const cut = (label: string, most: number): string => {
  const points = [...label]
  return points.length <= most ? label : `${points.slice(0, most - 1).join('')}…`
}
