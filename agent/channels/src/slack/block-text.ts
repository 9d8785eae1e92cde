/**
 * The text of Block Kit blocks, as mrkdwn. Slack adds blocks and keys at any time, so everything is read as
 * unknown JSON: what has no text is skipped. https://docs.slack.dev/reference/block-kit/blocks
 */
import { lines } from '../described.ts'
import { escapeText } from './text.ts'

type Json = Readonly<Record<string, unknown>>

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Blocks below each other. */
export const blocksText = (blocks: unknown): string => lines(listOf(blocks).map(blockText))

function blockText(block: Json): string {
  switch (block['type']) {
    case 'rich_text':
      return lines(listOf(block['elements']).map(richText))
    case 'section':
      return lines([objectText(block['text']), ...listOf(block['fields']).map(objectText)])
    case 'context':
      return listOf(block['elements'])
        .map(element => (element['type'] === 'image' ? pictureText(element) : objectText(element)))
        .join(' ')
    case 'markdown':
      return escapeText(stringOf(block['text']))
    case 'image':
      return pictureText(block)
    case 'video':
      return lines([objectText(block['title']), escapeText(stringOf(block['title_url']))])
    case 'table':
      return lines((Array.isArray(block['rows']) ? block['rows'] : []).map(rowText))
    // Buttons and inputs are for people, not said by them.
    case 'actions':
    case 'divider':
    case 'input':
      return ''
    default:
      return lines([objectText(block['text']), objectText(block['title'])])
  }
}

/** A text object; plain text is escaped, as Slack escapes mrkdwn. */
function objectText(value: unknown): string {
  if (!isJson(value)) return ''
  const text = stringOf(value['text'])
  return value['type'] === 'mrkdwn' ? text : escapeText(text)
}

function pictureText({ alt_text, title }: Json): string {
  const name = objectText(title) || escapeText(stringOf(alt_text))
  return name === '' ? '[Picture]' : `[Picture: ${name}]`
}

const rowText = (row: unknown): string =>
  listOf(row)
    .map(cell => (cell['type'] === 'rich_text' ? blockText(cell) : escapeText(stringOf(cell['text']))))
    .join(' | ')

function richText(element: Json): string {
  const parts = listOf(element['elements'])
  switch (element['type']) {
    case 'rich_text_list': {
      const indent = '  '.repeat(Math.min(9, Number(element['indent']) || 0))
      const from = Number(element['offset']) || 0
      const isOrdered = element['style'] === 'ordered'
      return parts
        .map(
          (item, at) => `${indent}${isOrdered ? `${from + at + 1}.` : '•'} ${inlineTexts(item['elements'])}`,
        )
        .join('\n')
    }
    case 'rich_text_preformatted':
      return `\`\`\`\n${inlineTexts(parts)}\n\`\`\``
    case 'rich_text_quote':
      return inlineTexts(parts).replaceAll(/^/gm, '&gt; ')
    default:
      return inlineTexts(parts)
  }
}

const inlineTexts = (elements: unknown): string => listOf(elements).map(inlineText).join('')

function inlineText(element: Json): string {
  const text = escapeText(stringOf(element['text']))
  switch (element['type']) {
    case 'link': {
      const url = escapeText(stringOf(element['url']))
      return text === '' ? `<${url}>` : `<${url}|${text}>`
    }
    case 'user':
      return `<@${stringOf(element['user_id'])}>`
    case 'channel':
      return `<#${stringOf(element['channel_id'])}>`
    case 'usergroup':
      return `<!subteam^${stringOf(element['usergroup_id'])}>`
    case 'broadcast':
      return `<!${stringOf(element['range'])}>`
    case 'emoji':
      return `:${stringOf(element['name'])}:`
    case 'color':
      return escapeText(stringOf(element['value']))
    case 'date':
      return escapeText(stringOf(element['fallback'])) || text
    default:
      return text
  }
}
