/** The visible texts of a component: what the page's catalogue (agent/web/src/words) must hold instead. */
import { parseSync } from 'vite'

type Node = { type: string; start: number; end: number; [key: string]: unknown }

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

const VISIBLE_ATTRIBUTES = new Set([
  'aria-label',
  'aria-description',
  'aria-roledescription',
  'aria-valuetext',
  'alt',
  'label',
  'placeholder',
  'title',
])
/** Names of keys, which look like words. */
const KEYS = /^(?:Arrow(?:Up|Down|Left|Right)?|Backspace|End|Enter|Esc(?:ape)?|Home|Page (?:Up|Down)|Tab)$/

const hasWord = (text: string): boolean => /\p{L}{2}/u.test(text)
/** "Retry", "Older sessions", "no limit": a capital, or words with spaces. */
const isProse = (text: string): boolean => /^\p{Lu}\p{Ll}+(?:[ .,:;…]|$)/u.test(text) && !KEYS.test(text)

/** Commands, paths and keys are the same in every language. */
const isCode = ({ type, openingElement }: Node): boolean =>
  type === 'JSXElement' &&
  ['code', 'kbd'].includes((openingElement as { name: { name?: string } }).name.name ?? '')

/** Each visible text of a source file, as `line: text`. */
export function visibleTexts(path: string, text: string): string[] {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const found: string[] = []
  const add = ({ start }: Node, words: string) => {
    const line = text.slice(0, start).split('\n').length
    found.push(`${line}: ${words.trim().replace(/\s+/g, ' ')}`)
  }
  /** `shown`: the value is drawn, or read aloud, whatever its words. */
  const visit = (node: Node, shown: boolean): void => {
    if (/^(?:Import|Export)\w*Declaration$/.test(node.type) && node['source']) return
    if (/^TS(?!As|Satisfies|NonNull)/.test(node.type) || isCode(node)) return
    if (node.type === 'BinaryExpression' && node['operator'] === 'in') return
    const value = node['value']
    if (node.type === 'JSXText' && hasWord(String(value))) return add(node, String(value))
    if (node.type === 'Literal' && typeof value === 'string') {
      if (shown ? hasWord(value) : isProse(value)) add(node, value)
      return
    }
    if (node.type === 'TemplateElement') {
      const { cooked } = value as { cooked: string }
      if (shown ? hasWord(cooked) : isProse(cooked)) add(node, cooked)
      return
    }
    for (const [key, child] of Object.entries(node))
      for (const each of Array.isArray(child) ? (child as unknown[]) : [child])
        if (isNode(each)) visit(each, isShown(node, key, shown))
  }
  if (isNode(program)) visit(program, false)
  return found
}

/** Whether what stands under `key` of a node is drawn. */
function isShown({ type, ...node }: Node, key: string, shown: boolean): boolean {
  switch (type) {
    case 'JSXAttribute':
      return VISIBLE_ATTRIBUTES.has(String((node['name'] as { name?: unknown }).name))
    case 'JSXElement':
    case 'JSXFragment':
      return key === 'children'
    case 'JSXExpressionContainer':
    case 'TemplateLiteral':
      return shown
    // Of a choice the branches are drawn, the condition is not.
    case 'ConditionalExpression':
      return shown && key !== 'test'
    case 'LogicalExpression':
      return shown && (key === 'right' || node['operator'] !== '&&')
    case 'BinaryExpression':
      return shown && node['operator'] === '+'
    default:
      return false
  }
}
