/** What a screen reader gets: Chromium's accessibility tree, and the announcements of live regions. */
import type { CDPSession, Page } from 'playwright-core'

export type Spoken = { role: string; name: string; level: number | null; live: string | null }
type Property = { name: string; value: { value?: unknown } }
type AXNode = {
  nodeId: string
  ignored: boolean
  role?: { value: string }
  name?: { value: string }
  properties?: Property[]
  childIds?: string[]
}

/** The tree in reading order. */
export async function readTree(session: CDPSession): Promise<Spoken[]> {
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as { nodes: AXNode[] }
  const byId = new Map(nodes.map(node => [node.nodeId, node]))
  const read: Spoken[] = []
  const visit = ({ ignored, role, name, properties = [], childIds = [] }: AXNode): void => {
    const of = (key: string) => properties.find(property => property.name === key)?.value.value
    if (!ignored)
      read.push({
        role: role?.value ?? '',
        name: (name?.value ?? '').replaceAll(/\s+/g, ' ').trim(),
        level: Number(of('level') ?? 0) || null,
        live: (of('live') as string | undefined) ?? null,
      })
    for (const child of childIds.flatMap(id => byId.get(id) ?? [])) visit(child)
  }
  if (nodes[0]) visit(nodes[0])
  return read
}

const NEEDS_NAME = new Set(
  (
    'button link textbox searchbox checkbox radio combobox option menuitem tab switch slider image dialog ' +
    'alertdialog grid tree log region navigation complementary radiogroup tablist tabpanel progressbar meter'
  ).split(' '),
)
/** Landmarks need unique names: a list of landmarks shows only role and name. */
const PLACES = new Set(['main', 'navigation', 'complementary', 'banner', 'contentinfo', 'region', 'log'])

/** The accessibility faults of a tree. */
export function faultsOf(tree: readonly Spoken[]): string[] {
  const faults = tree
    .filter(({ role, name }) => NEEDS_NAME.has(role) && name === '')
    .map(({ role }) => `a ${role} without a name`)
  const places = tree.filter(({ role }) => PLACES.has(role)).map(({ role, name }) => `${role} "${name}"`)
  faults.push(...places.filter((place, i) => places.indexOf(place) < i).map(place => `twice: ${place}`))
  if (tree.filter(({ role }) => role === 'main').length !== 1) faults.push('not one main part')
  const headings = tree.filter(({ role }) => role === 'heading')
  if (headings.filter(({ level }) => level === 1).length !== 1) faults.push('not one heading of level 1')
  headings.forEach(({ level, name }, i) => {
    const before = headings[i - 1]?.level
    if (before !== undefined && (level ?? 0) > (before ?? 0) + 1)
      faults.push(`the heading "${name}" of level ${level} follows one of level ${before}`)
  })
  return faults
}

/** The live regions of a tree. */
export const liveParts = (tree: readonly Spoken[]): string[] =>
  tree
    .filter(({ role, live }) => live !== null && live !== 'off' && /^(?:status|alert|log|timer)$/.test(role))
    .map(({ role, name }) => (name === '' ? role : `${role} "${name}"`))

/**
 * Collects the announcements of live regions in the page: the current text of a status or an alert, and the
 * additions to a log once it is not busy.
 */
const LISTEN = `(() => {
  const said = (window.saidAloud = [])
  const waiting = new Map()
  const words = node => (node.textContent ?? '').replace(/\\s+/g, ' ').trim()
  const say = text => { if (text !== '' && said.at(-1) !== text) said.push(text) }
  const flush = log => {
    if (log.getAttribute('aria-busy') === 'true') return
    for (const node of waiting.get(log) ?? []) if (node.isConnected) say(words(node))
    waiting.delete(log)
  }
  new MutationObserver(records => {
    for (const { type, target, addedNodes } of records) {
      const element = target.nodeType === 1 ? target : target.parentElement
      const brief = element?.closest('[role="status"], [role="alert"], [aria-live="polite"]')
      if (brief) say(brief.getAttribute('aria-label') ?? words(brief))
      for (const node of addedNodes) {
        if (node.nodeType !== 1) continue
        for (const each of [node, ...node.querySelectorAll('*')])
          if (/^(?:status|alert)$/.test(each.getAttribute('role')))
            say(words(each) || each.getAttribute('aria-label') || '')
        const log = element?.closest('[role="log"]')
        if (log) waiting.set(log, [...(waiting.get(log) ?? []), node])
      }
      if (element?.getAttribute('role') === 'log') flush(element)
    }
    for (const log of waiting.keys()) flush(log)
  }).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributeFilter: ['aria-busy'],
  })
})()`

/** Call before the first page. */
export const listen = (page: Page): Promise<void> => page.addInitScript(LISTEN).then(() => undefined)

export const saidAloud = async (page: Page): Promise<string> =>
  (await page.evaluate<string[]>('window.saidAloud')).join('\n')
