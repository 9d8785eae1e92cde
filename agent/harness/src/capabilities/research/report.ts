/** research_report: the result of the research. Its quotations are first checked against the sources. */
import type { ResearchSource } from '@cairn/log'
import { workspaceOf } from '@cairn/sessions'
import { REPORT_TOOL } from '@cairn/state'
import { sessionFolder } from '@cairn/workspace'
import { z } from 'zod'
import type { SpawnContext } from '../coordination/spawn-context.ts'
import { composeArtifact } from '../../tools/create-artifact.ts'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../tools/tool.ts'
import { activeResearch, NO_RESEARCH } from '../missions/active-research.ts'
import { findFetched } from './fetched.ts'
import { checkReport, type ReportProblem, type SourceTexts } from './quotations.ts'

const Parameters = z.strictObject({
  title: z.string().trim().min(1).max(120),
  markdown: z
    .string()
    .trim()
    .min(1)
    .max(200_000)
    .describe('with markers such as [S3] or [S1, S2] after what a source supports'),
})
type Args = z.output<typeof Parameters>
const MAX_PROBLEMS = 30

export const researchReportTool = (place: SpawnContext): Tool =>
  defineTool({
    name: REPORT_TOOL,
    description:
      'Submit the report, which ends the round: it is graded by the rubric. Every marker must be a source ' +
      'of this research, and every quotation of eight words or more must occur, word for word, in the ' +
      'source that is named after it; otherwise the report is rejected with a list of problems. The list ' +
      'of sources is appended for you.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    isOffered: () => activeResearch(place.claimed.log.position()) !== null,
    run: (args, context) => report(place, args, context),
  })

async function report(
  place: SpawnContext,
  { title, markdown }: Args,
  context: ToolContext,
): Promise<ToolOutcome> {
  const active = activeResearch(place.claimed.log.position())
  if (active === null) return { content: { error: NO_RESEARCH } }
  const { mission, research } = active
  const open = research.branches.filter(({ ended }) => ended === null).map(({ key }) => key)
  if (open.length > 0)
    return {
      content: {
        error:
          `branches are still running (${open.join(', ')}): wait for them with wait_for_workers, or stop ` +
          'them with stop_worker',
      },
    }
  const { store, newId, clock } = place.runner
  const sources = await store.research.sources(research.run_id)
  const texts = await Promise.all(sources.map(source => textsOf(place, source)))
  const { problems, cited, unmarked } = checkReport(markdown, texts, research.settings.mode === 'report')
  if (problems.length > 0)
    return {
      content: {
        error: 'report rejected: fix the listed problems and submit it again',
        problems: problems.slice(0, MAX_PROBLEMS).map(each => describe(each, sources)),
        ...(problems.length > MAX_PROBLEMS ? { further_problems: problems.length - MAX_PROBLEMS } : {}),
      },
    }
  const content = withSources(
    markdown,
    sources.filter(({ number }) => cited.includes(number)),
  )
  const spec = { kind: 'markdown' as const, content }
  const { artifact, created } = await composeArtifact(store, newId, context, title, spec)
  const at = new Date(clock.now()).toISOString()
  return {
    content: {
      artifact_id: artifact.artifact_id,
      title,
      version: artifact.version,
      sources: cited.map(number => `S${number}`),
      paragraphs_without_marker: unmarked,
    },
    events: [created],
    linked: {
      rows: [
        {
          do: 'mission.move',
          mission_id: mission.mission_id,
          root_id: place.root_id,
          from: ['active'],
          to: 'active',
          state: { report: { artifact_id: artifact.artifact_id, title, at } },
        },
      ],
    },
    refused: ({ refusal }) =>
      Promise.resolve(
        refusal === 'mission_moved'
          ? { content: { error: 'the mission has ended or was paused in the meantime' } }
          : null,
      ),
  }
}

/** The branch's quotation, and the fetched page that it comes from. */
async function textsOf({ runner }: SpawnContext, source: ResearchSource): Promise<SourceTexts> {
  const { number, quote, worker_id, fetch_call_id } = source
  const branch = await runner.store.sessions.get(worker_id)
  const own = branch === null ? worker_id : workspaceOf(branch)
  const workspace = sessionFolder(runner.workspacesDir, own)
  const page = await findFetched(runner.store, worker_id, workspace, fetch_call_id)
  return { number, texts: 'problem' in page ? [quote] : [quote, page.text] }
}

function describe(problem: ReportProblem, sources: readonly ResearchSource[]): Record<string, unknown> {
  switch (problem.problem) {
    case 'no_markers':
      return {
        problem: 'the report cites no source',
        right: 'put the marker of a source, such as [S1], after what it supports',
      }
    case 'unknown_marker':
      return {
        problem: `unknown source ${problem.marker}`,
        right: sources.length === 0 ? 'there are no sources yet' : `the sources are S1 to S${sources.length}`,
      }
    case 'not_in_source':
      return {
        problem: 'this quotation does not occur there word for word',
        quotation: problem.quotation,
        in: problem.sources.length === 0 ? 'any source' : problem.sources.join(', '),
        right: 'quote the source exactly, or paraphrase it without quotation marks',
      }
  }
}

function withSources(markdown: string, cited: readonly ResearchSource[]): string {
  if (cited.length === 0) return markdown
  const lines = cited.map(({ number, title, url, fetched_at }) => {
    const about = title === '' ? [] : [title.replaceAll(/\s+/g, ' ')]
    return `- [S${number}] ${[...about, url, fetched_at.slice(0, 10)].join(', ')}`
  })
  return `${markdown}\n\n## Sources\n\n${lines.join('\n')}\n`
}
