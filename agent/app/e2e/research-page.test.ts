/** Research in a real Chromium: over pages that are really fetched, and with a metric. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { lookWithAxe } from './axe.ts'
import { openBrowser, openPage, takePictures } from './browser.ts'
import { makePlace, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

const by = (page: Page, id: string, more = '') => page.locator(`[data-testid="${id}"]${more}`)
const POLL = { timeout: PATIENCE_MS }
const calls = (...tool_calls: object[]) => ({ tool_calls })
const call = (name: string, args: object) => ({ name, arguments: args })
const goal = (text: string) => ({ user: `Goal:\\s+${text}` })
const finish = (summary: string) => calls(call('worker_complete', { summary }))
const branch = (...branches: object[]) =>
  call('research_branch', {
    branches: branches.map(each => ({ instructions: 'Read what there is.', ...each })),
  })
const report = (markdown: string) => calls(call('research_report', { title: 'How tides rise', markdown }))
const scores = (when: string, given: Record<string, [score: number, why: string]>) => ({
  when: { schema: 'branch_scores', user: when },
  answer: { json: { scores: Object.entries(given).map(([key, [score, why]]) => ({ key, score, why })) } },
})
const MARKED = '<b>the water rises by more than sixteen metres</b>'
const FALSE = 'the water there never rises by more than two metres at all'

async function servePages(): Promise<string> {
  const server = createServer((request, response) => {
    const isTides = request.url === '/tides'
    response.writeHead(isTides ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(isTides ? `Of tides. In the Bay of Fundy ${MARKED}, they say.` : 'There is no such page.')
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const scenario = (web: string) => ({
  pace_ms: 0,
  rules: [
    {
      when: { schema: 'outcome_verdict' },
      answer: {
        json: { result: 'satisfied', explanation: 'It says where, how high and why.', feedback: '' },
      },
    },
    scores('Branch 1:', { '1': [82, 'It says where, with a source.'] }),
    scores('Branch 2:', {
      '2': [20, 'It repeats what was known.'],
      '1.1': [5, 'It found nothing.'],
    }),
    {
      when: goal('Where are'),
      steps: [
        calls(call('web_fetch', { url: `${web}/none` }), call('web_fetch', { url: `${web}/tides` })),
        calls(
          call('cite', { fetch_call_id: `${web}/none`, quote: 'There is no such page.', claim: 'Nothing.' }),
          call('cite', {
            fetch_call_id: `${web}/tides`,
            quote: `In the Bay of Fundy ${MARKED}`,
            claim: 'The highest tides are those of the Bay of Fundy.',
          }),
        ),
        finish('The highest are in the Bay of Fundy: more than sixteen metres [S1].'),
      ],
    },
    { when: goal('What makes'), answer: finish('The moon, as everybody knows.') },
    { when: goal('Are there'), answer: finish('No other bay was found.') },
    {
      when: goal('Make it'),
      steps: [calls(call('write_file', { path: 'value.txt', content: '41' })), finish('Now 1000.')],
    },
    {
      when: { user: '^\\[Findings[^]*Make it' },
      steps: [calls(call('research_adopt', { key: '1' })), report('It is 41 now.')],
    },
    {
      when: { user: '^\\[Findings[^]*Branch 2' },
      steps: [
        report(`They write "${FALSE}" [S1].`),
        report(
          `## Where\n\nIn the Bay of Fundy “${MARKED}” [S1].\n\n## Why\n\nThe moon makes them, which no source of ours says.`,
        ),
      ],
    },
    {
      when: { user: '^\\[Findings' },
      answer: calls(
        branch(
          { question: 'What makes the tides?' },
          { question: 'Are there others as high?', parent_key: '1' },
        ),
        call('wait_for_workers', {}),
      ),
    },
    {
      when: { user: '^You lead this research:\\s+Make' },
      answer: calls(branch({ question: 'Make it greater' }), call('wait_for_workers', {})),
    },
    { answer: calls(branch({ question: 'Where are the tides highest?' }), call('wait_for_workers', {})) },
  ],
})

/** Promise 14.5: The page shows the branches, scores, levels, sources and report of a research run. */
test('the page shows the branches, scores, levels, sources and report of a research mission live', async () => {
  const web = await servePages()
  const agents = { assistant: { governance: { egress: { internal: ['127.0.0.1'] } } } }
  const server = await startService(
    makePlace({ scenario: scenario(web), config: { agents, research: { warn: 2, shift: 5, stop: 8 } } }),
  )
  const { client } = server
  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  const rubric = { type: 'text' as const, content: 'Where, how high and why, each with a source.' }
  const { mission_id, session_id } = await client.call('createMission', {
    body: { description: 'How high do tides rise, and why?', rubric, research: {} },
  })
  await page.goto(new URL(`/missions/${mission_id}`, server.loginUrl).href)
  await expect.poll(() => by(page, 'mission-status').textContent(), POLL).toBe('Satisfied')
  const branchOf = (key: string) => by(page, 'branch', `[data-key="${key}"]`)
  await branchOf('1.1').waitFor()
  // When a mission ends, the page fetches everything once more and shows the previous data until then.
  await expect
    .poll(() => by(page, 'research-standing').textContent(), POLL)
    .toMatch(/3 of 24 branches.*Best 82 of 100.*2 branches without improvement/)
  expect(await branchOf('1').locator('.branch-line').first().textContent()).toMatch(/82.*improves/)
  expect(await branchOf('1').locator(branchOf('1.1')).count()).toBe(1)
  await expect.poll(() => by(page, 'branch-tree').getByText('Little progress').count(), POLL).toBe(1)
  await branchOf('1').getByText('Findings').first().focus()
  await page.keyboard.press('Enter')
  await branchOf('1').getByText('It says where, with a source.').waitFor()
  // Fetched content is rendered as text, in the source and in the report.
  const sources = by(page, 'research-sources').locator('li')
  expect(await sources.count()).toBe(1)
  expect(await sources.textContent()).toContain(MARKED)
  const shown = by(page, 'research-report')
  await shown.getByText('Sources', { exact: true }).waitFor()
  expect(await shown.textContent()).toContain(`${web}/tides`)
  expect(await page.locator('[data-testid="research-report"] b').count()).toBe(0)
  await page.locator('h1').click()
  // The list is updated a moment later.
  await expect.poll(() => by(page, 'recent-session').first().innerHTML(), POLL).not.toContain('Running,')
  await takePictures(page, 'research')
  expect(await lookWithAxe(page, 'research')).toEqual([])

  const { events } = await client.call('pollEvents', { params: { id: session_id }, query: { limit: 500 } })
  const reports = events.flatMap(({ type, data }) =>
    type === 'tool.result' && data['name'] === 'research_report' ? [String(data['content'])] : [],
  )
  expect(reports).toHaveLength(2)
  expect(reports[0]).toContain(FALSE)

  // A mission that a real command measures.
  const made = await client.call('createMission', {
    body: {
      description: 'Make it greater',
      rubric,
      research: { mode: 'metric', metric: { command: 'cat value.txt || echo 1', direction: 'max' } },
    },
  })
  const params = { mission_id: made.mission_id }
  await expect.poll(async () => (await client.call('getMission', { params })).status, POLL).toBe('satisfied')
  const measured = await client.call('missionResearch', { params })
  expect(measured.branches).toMatchObject([{ key: '1', score: 41, adopted_at: expect.any(String) }])
  const file = await client.call('workspaceFile', {
    params: { id: made.session_id },
    query: { path: 'value.txt' },
  })
  expect(JSON.stringify(file)).toContain('41')
  await page.goto(new URL(`/missions/${made.mission_id}`, server.loginUrl).href)
  await page.getByText('Adopted').waitFor()
  expect(troubles).toEqual([])
})
