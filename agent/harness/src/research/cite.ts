/**
 * cite: adds a quotation from a page that this branch fetched to the sources of the research, with a number.
 */
import type { NewSource } from '@cairn/log'
import { childConfig } from '@cairn/sessions'
import { z } from 'zod'
import type { SpawnContext } from '../coordination/spawn-context.ts'
import { defineTool } from '../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../tools/tool.ts'
import { findFetched } from './fetched.ts'
import { holds, plain, wordsIn } from './quotations.ts'

export const CITE_TOOL = 'cite'
/** One or two words occur on any page. */
const MIN_WORDS = 3

const Parameters = z.strictObject({
  fetch_call_id: z
    .string()
    .min(1)
    .max(8000)
    .describe('the id of your call of web_fetch, or the address that you fetched'),
  quote: z.string().trim().min(1).max(2000).describe('words of that page, exactly as they stand there'),
  claim: z.string().trim().min(1).max(500).describe('what they show'),
})
type Args = z.output<typeof Parameters>

export const citeTool = (place: SpawnContext): Tool =>
  defineTool({
    name: CITE_TOOL,
    description:
      'Make a passage of a page that you fetched a source of the research. The quote is looked for in what ' +
      'web_fetch brought; a page that was not fetched, or words that are not in it, cannot be cited. The ' +
      'result has the marker of the source, [S3] for example: put it behind what it shows.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    run: (args, { workspace }) => cite(place, args, workspace),
  })

/** Uses the next number; retries while other branches take it first. */
async function cite(place: SpawnContext, args: Args, workspace: string): Promise<ToolOutcome> {
  const { runner, session } = place
  const branch = childConfig(session)?.branch
  if (branch === undefined) return { content: { error: 'only branches of research cite' } }
  const { quote, claim, fetch_call_id } = args
  if (wordsIn(quote) < MIN_WORDS)
    return { content: { error: `a quote has at least ${MIN_WORDS} words; this has ${wordsIn(quote)}` } }
  const page = await findFetched(runner.store, session.id, workspace, fetch_call_id)
  if ('problem' in page)
    return { content: { error: `${page.problem}. Fetch the page with web_fetch, then cite that call` } }
  if (!holds(page.text, quote))
    return {
      content: {
        error: `these words are not in what was fetched of ${page.url}: quote it exactly as it stands there`,
      },
    }
  const known = await runner.store.coordination.sources(branch.run_id)
  const { url, title, fetched_at, call_id } = page
  const source: NewSource = {
    run_id: branch.run_id,
    number: known.length + 1,
    worker_id: session.id,
    fetch_call_id: call_id,
    branch_key: branch.key,
    url,
    title,
    quote: plain(quote),
    claim,
    fetched_at,
  }
  const same = known.find(
    each => each.worker_id === session.id && each.url === url && each.quote === source.quote,
  )
  if (same !== undefined) return { content: { source: `S${same.number}`, url: same.url, known: true } }
  return {
    content: { source: `S${source.number}`, url },
    linked: { rows: [{ do: 'source.add', source }] },
    refused: ({ refusal }) =>
      refusal === 'research_moved' ? cite(place, args, workspace) : Promise.resolve(null),
  }
}
