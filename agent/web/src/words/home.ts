/** The first page. */
import { plural } from '../format.ts'

const NUMBERS = ['One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten']

export const homeWords = {
  greetings: {
    morning: (name: string) => `Good morning, ${name}.`,
    afternoon: (name: string) => `Good afternoon, ${name}.`,
    evening: (name: string) => `Good evening, ${name}.`,
  },
  needYou: (n: number) =>
    n === 0
      ? 'Nothing needs you.'
      : n === 1
        ? 'One thing needs you.'
        : `${NUMBERS[n - 1] ?? String(n)} things need you.`,
  manyNeedYou: 'More than 100 things need you.',
  describeTask: 'Describe a task. The agent plans, works and asks before anything risky.',
  describeFirst: 'Describe a task',
  task: 'Task',
  enterToStart: 'Enter to start',
  start: 'Start',
  agentIs: (name: string) => `Agent: ${name}`,
  modelIs: (name: string) => `Model: ${name}`,
  chooseAgent: 'Agent',
  chooseModel: 'Model',
  ownModel: (model: string) => `${model} (of the agent)`,
  demoModel: 'Demo model',
  attach: 'Attach files',
  attachHint: 'Attach files (you can also paste or drop them)',
  attached: 'Attached files',
  removeFile: (name: string) => `Remove ${name}`,
  asMission: 'As a mission',
  goal: 'Goal',
  describeGoal: 'Describe the goal',
  startMission: 'Start mission',
  starts: 'Suggestions',
  startTexts: [
    ['Fix a failing test', 'Run the tests, find the first one that fails and fix it.'],
    ['Research with sources', 'Research this question and cite a source for each claim: '],
    ['Run something every Monday', 'Every Monday at 09:00: '],
  ] as const,
  tourStart: 'Take the tour, 4 min',
  tourMessage: 'Show me what you can do',
  needs: 'Needs you',
  openInbox: 'Open inbox',
  kinds: { governance_gate: 'Approval', input_required: 'Question', action_required: 'Action' },
  blocked: 'Blocked task',
  proposal: 'Proposal',
  review: 'Review',
  answer: 'Answer',
  open: 'Open',
  several: {
    governance_gate: (n: number) => `${n} approvals`,
    input_required: (n: number) => `${n} questions`,
    action_required: (n: number) => `${n} actions`,
  },
  running: 'Running',
  recent: 'Recent',
  allSessions: 'All sessions',
  workers: (n: number) => plural(n, 'worker'),
}
