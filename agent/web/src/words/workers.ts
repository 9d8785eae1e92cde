/** The workers tab. */

export const workersWords = {
  causes: {
    empty: 'ended without a result',
    budget: 'budget exhausted',
    tool_loop: 'stuck in a loop',
    error: 'failed',
    cancelled: 'stopped',
    timeout: 'timed out',
    deadline: 'deadline reached',
    parent: 'stopped with its parent',
    archived: 'archived',
  },
  none: 'No workers yet',
  noneText: 'An agent can delegate work. Each worker is a session of its own and appears here.',
  older: 'Older workers',
  caption: 'Workers of this session, each below its parent',
  lastEvent: 'Last event',
  stop: 'Stop',
  level: (level: number) => `level ${level}:`,
  stopWorker: (goal: string) => `Stop worker: ${goal}`,
}
