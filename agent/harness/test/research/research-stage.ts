/** Research on the stage: a small web, branches that read it, and a coordinator that reports. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type ResearchInput, ResearchInput as Input, ResearchLevels } from '@cairn/protocol'
import { defineMission, researchSettings } from '@cairn/sessions'
import type { Mission } from '@cairn/log'
import { z } from 'zod'
import type { ScenarioInput } from '@cairn/scripted-model'
import type { Tool } from '../../src/tools/tool.ts'
import { finishWork, goal, wait } from '../coordination/tree-stage.ts'
import { grading } from '../missions/mission-stage.ts'
import { say, type Stage, type StageOptions } from '../turn/stage.ts'

export const PAGES: Readonly<Record<string, { title: string; text: string }>> = {
  'https://sea.example/tides': {
    title: 'Tides',
    text:
      'Of tides.\n\nThe highest tides of the world are measured in the Bay of Fundy,\n where the water ' +
      'rises by more than sixteen metres.\nThe moon makes them.',
  },
  'https://sea.example/moon': {
    title: 'The moon',
    text: 'The moon pulls on the water that is nearest to it, and twice a day the sea follows.',
  },
}

/** web_fetch as the log knows it, of pages that are always there. */
export const fetchTool: Tool = {
  name: 'web_fetch',
  description: 'fetch',
  parameters: z.strictObject({ url: z.string() }),
  readOnly: true,
  idempotent: true,
  run: ({ url }) => {
    const page = PAGES[String(url)]
    return Promise.resolve({
      content:
        page === undefined
          ? { url, status: 404, text: 'There is no such page here.' }
          : { url, status: 200, ...page },
    })
  },
}

export const fetchPage = (name: string, url: string) => ({
  tool_calls: [{ name: 'web_fetch', id: `fetch-${name}`, arguments: { url } }],
})
export const cite = (fetch_call_id: string, quote: string, claim = 'It shows that.') => ({
  tool_calls: [{ name: 'cite', arguments: { fetch_call_id, quote, claim } }],
})
export type BranchInput = { question: string; instructions?: string; parent_key?: string }
export const branchCall = (...wishes: BranchInput[]) => ({
  name: 'research_branch',
  arguments: { branches: wishes.map(wish => ({ instructions: 'Look there.', ...wish })) },
})
export const report = (markdown: string, title = 'Tides') => ({
  tool_calls: [{ name: 'research_report', arguments: { title, markdown } }],
})
export const HARVESTED = { user: '^\\[Findings of the branches' }
/** The evaluator of the branches; without `when` it is asked about any. */
export const scoring = (
  scores: Readonly<Record<string, number>>,
  when = '',
): ScenarioInput['rules'][number] => ({
  when: { schema: 'branch_scores', ...(when === '' ? {} : { user: when }) },
  answer: {
    json: {
      scores: Object.entries(scores).map(([key, score]) => ({ key, score, why: `It is worth ${score}.` })),
    },
  },
})

export const FUNDY = 'the water rises by more than sixteen metres'
/** Two branches that each read a page, and one that fails. */
export const BRANCHES: ScenarioInput['rules'] = [
  {
    when: goal('Where are the tides'),
    steps: [
      fetchPage('tides', 'https://sea.example/tides'),
      cite('fetch-tides', `where ${FUNDY}`),
      finishWork('They are highest in the Bay of Fundy {{result_of.cite.source}}.'),
    ],
  },
  {
    when: goal('What makes'),
    steps: [
      fetchPage('moon', 'https://sea.example/moon'),
      cite('fetch-moon', 'twice a day the sea follows'),
      finishWork('The moon does {{result_of.cite.source}}.'),
    ],
  },
  { when: goal('Who fails'), answer: { error: { status: 400, message: 'no such thing' } } },
]
export const QUESTIONS: BranchInput[] = [
  { question: 'Where are the tides highest?' },
  { question: 'What makes them?' },
]

/** Both branches at once, then the report. */
export const reportRules = (
  reports: ScenarioInput['rules'][number] & object,
  verdicts: readonly object[],
): ScenarioInput['rules'] => [
  scoring({ '1': 80, '2': 60 }),
  ...grading(verdicts),
  ...BRANCHES,
  reports,
  { answer: { tool_calls: [branchCall(...QUESTIONS), wait] } },
]

export const defineResearch = (
  stage: Stage,
  input: z.input<typeof Input> = {},
  more: { levels?: Partial<ResearchLevels>; max_iterations?: number; rubric?: string } = {},
): Promise<Mission> => {
  const read: ResearchInput = Input.parse(input)
  return defineMission(stage.deps, stage.session_id, {
    description: 'How high do tides rise, and why?',
    rubric: more.rubric ?? 'The report says where, how high and why.',
    max_iterations: more.max_iterations,
    research: researchSettings(read, ResearchLevels.parse(more.levels ?? {})),
  })
}

/** Files of the coordinator's workspace. */
export function writeFiles(stage: Stage, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    const to = join(stage.dir, 'workspaces', stage.session_id, path)
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, content)
  }
}

export const withWeb = (options: StageOptions): StageOptions => ({
  ...options,
  tools: [fetchTool, ...(options.tools ?? [])],
})
export const done = say('Done.')
