/** Routes of missions. */
import { z } from 'zod'
import { SessionBudget } from '../config/index.ts'
import { ResearchInput } from '../config/research.ts'
import { MISSION_STATUSES } from '../enums/missions.ts'
import { Rubric } from '../events/index.ts'
import { TaskView, WORKER_STATUSES, WorkerView } from '../resources/index.ts'
import { MissionDetail, MissionView } from '../resources/missions.ts'
import { ResearchView } from '../resources/research.ts'
import { list, onSession, page, said } from './fields.ts'
import type { Route } from './route.ts'

export const MISSION_ROUTES = {
  createMission: {
    method: 'POST',
    path: '/missions',
    errors: ['not_found', 'wrong_state', 'unknown_agent'],
    summary:
      'Give a session a mission: it works in rounds, alone or with workers, until an evaluator is ' +
      'satisfied. Without session_id, a session is created for it',
    access: 'any',
    alias: true,
    creates: true,
    body: z.strictObject({
      session_id: z.string().optional().describe('a session without a parent, a goal or another mission'),
      agent: z.string().optional().describe('agent of the session that is created'),
      description: said.pipe(z.string().max(20_000)),
      rubric: Rubric.describe('the criteria by which the evaluator grades each round'),
      max_iterations: z.int().min(1).optional().describe('max rounds; values above 20 become 20'),
      budget: SessionBudget.optional().describe('for the coordinator and its descendants, from now on'),
      research: ResearchInput.optional().describe(
        'makes it a research mission, whose work is done by branches',
      ),
    }),
    status: 201,
    answer: MissionDetail,
  },
  listMissions: {
    method: 'GET',
    path: '/missions',
    summary: 'List missions, newest first',
    access: 'any',
    alias: true,
    query: z.object({
      ...page,
      status: list(MISSION_STATUSES).optional(),
      session_id: z.string().optional(),
    }),
    status: 200,
    answer: z.object({ missions: z.array(MissionView), next_cursor: z.string().nullable() }),
  },
  getMission: {
    method: 'GET',
    path: '/missions/{mission_id}',
    summary: 'Get a mission with its verdicts',
    ...onSession,
    status: 200,
    answer: MissionDetail,
  },
  missionTasks: {
    method: 'GET',
    path: '/missions/{mission_id}/tasks',
    summary: 'List the tasks of its coordinator, oldest first',
    ...onSession,
    status: 200,
    answer: z.object({ tasks: z.array(TaskView) }),
  },
  missionWorkers: {
    method: 'GET',
    path: '/missions/{mission_id}/workers',
    summary: 'List all workers below its coordinator, newest first',
    ...onSession,
    query: z.object({ ...page, status: list(WORKER_STATUSES).optional() }),
    status: 200,
    answer: z.object({ workers: z.array(WorkerView), next_cursor: z.string().nullable() }),
  },
  missionResearch: {
    method: 'GET',
    path: '/missions/{mission_id}/research',
    summary: 'Get the state of a research mission, its branches with their scores, and its sources',
    ...onSession,
    status: 200,
    answer: ResearchView,
  },
  pauseMission: {
    method: 'POST',
    path: '/missions/{mission_id}/pause',
    summary: 'Pause an active mission and its workers: the running turn stops, a running evaluation is kept',
    ...onSession,
    body: z.strictObject({ reason: said.pipe(z.string().max(500)).optional() }),
    status: 200,
    answer: MissionDetail,
  },
  resumeMission: {
    method: 'POST',
    path: '/missions/{mission_id}/resume',
    summary: 'Resume a mission that is paused or blocked; its coordinator reads the note',
    ...onSession,
    body: z.strictObject({ note: said.pipe(z.string().max(20_000)).optional() }),
    status: 200,
    answer: MissionDetail,
  },
  cancelMission: {
    method: 'POST',
    path: '/missions/{mission_id}/cancel',
    summary: 'Cancel a mission that has not ended, and its workers unless cascade_to_workers is false',
    ...onSession,
    body: z.strictObject({
      reason: said.pipe(z.string().max(500)).optional(),
      cascade_to_workers: z.boolean().default(true),
    }),
    status: 200,
    answer: MissionDetail,
  },
} as const satisfies Record<string, Route>
