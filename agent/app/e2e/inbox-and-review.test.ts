/** Inbox items that an agent creates on its own, a person's answers in a real browser, and their effects. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { itemRow, openItem, showTab } from './inbox.ts'
import { openBrowser, openPage } from './browser.ts'
import { makePlace, startServer } from './server.ts'
import { isType, newSession, readLog, say, waitFor } from './session.ts'

const SKILL = { name: 'sow-beans', description: 'How beans are sown here', body: 'Sow $ARGUMENTS in rows.' }
const act = {
  tool_calls: [
    {
      name: 'request_user_action',
      arguments: {
        title: 'Unlock the shed',
        instructions: 'Turn the key twice.',
        reason: 'Only you have the key.',
      },
    },
  ],
}
const scenario = {
  rules: [
    {
      when: { schema: 'session_review' },
      answer: { json: { memory: ['The user gardens in clay'], skills: [SKILL] } },
    },
    { when: { system: 'You advise another agent' }, answer: { text: 'Mention the watering.' } },
    { when: { user: '^Sow the red ones in rows' }, answer: { text: 'The red ones are sown.' } },
    { when: { user: 'Advice on this task' }, answer: { text: 'Sown, and watered.' } },
    {
      when: { user: 'says that this is done' },
      steps: [
        { tool_calls: [{ name: 'write_file', arguments: { path: 'beans.md', content: 'sown' } }] },
        { text: 'Sown.' },
      ],
    },
    { steps: [act] },
  ],
}
const config = {
  agents: {
    assistant: {
      advisor: { model: 'test/advisor' },
      review: { memory: true, skills: true, every_turns: 1 },
      inbox: { checkin_iterations: 1, task_complete_minutes: 0 },
    },
  },
}

/** Promise 1.1: Inbox items can be answered in the browser, and an accepted skill survives a server crash. */
test('in the browser, a person completes an action, acknowledges news and accepts a skill that then runs', async () => {
  const place = makePlace({ scenario, config })
  const server = await startServer(place)
  const id = await newSession(server.client)
  await say(server.client, id, 'sow beans')
  await waitFor(server.client, id, 0, isType('inbox.action_required'))

  const { page, troubles } = await openPage(await openBrowser())
  await page.goto(server.loginUrl)
  await page.waitForURL(url => url.pathname === '/')
  await page.goto(`${server.url}/inbox`)
  const shed = await openItem(page, { kind: 'action_required', text: 'Unlock the shed' })
  await shed.getByTestId('complete-action').click()
  await waitFor(
    server.client,
    id,
    0,
    event => event.type === 'inbox.task_complete' && event.data.review_wake_id !== undefined,
  )

  // Proposals and finished items appear live, without a reload.
  const proposal = await openItem(page, { kind: 'action_required', text: 'Proposed skill: sow-beans' })
  expect(await proposal.getByTestId('proposed-skill').textContent()).toBe(SKILL.body)
  await showTab(page, 'news')
  const finished = { kind: 'task_complete', text: 'Session review finished' } as const
  const news = await openItem(page, finished)
  expect(await news.textContent()).toContain('The user gardens in clay')
  await news.getByTestId('acknowledge').click()
  await itemRow(page, finished).waitFor({ state: 'detached' })
  await showTab(page, 'needs')
  await proposal.getByTestId('approve').click()
  await page.getByText('Nothing needs you').waitFor()

  const log = await readLog(server.client, id)
  const types = log.map(event => event.type)
  expect(types.filter(type => type.startsWith('advisor.'))).toEqual(['advisor.request', 'advisor.result'])
  expect(log.findLast(isType('llm.response'))?.data.message.content).toBe('Sown, and watered.')
  expect(types.filter(type => type === 'inbox.progress_checkin').length).toBeGreaterThan(1)
  const [user] = readdirSync(join(place.dataDir, 'memory'))
  expect(readFileSync(join(place.dataDir, 'memory', user!, 'assistant.md'), 'utf8')).toContain(
    '- The user gardens in clay',
  )

  // The skill is available in another session, after a server crash.
  await server.kill()
  const next = await startServer(place)
  const other = await newSession(next.client)
  await say(next.client, other, '/sow-beans the red ones')
  const invoked = await waitFor(next.client, other, 0, isType('skill.invoked'))
  expect(invoked.data).toMatchObject({
    skill: 'sow-beans',
    raw_message: '/sow-beans the red ones',
    expanded: 'Sow the red ones in rows.',
    staged_at: null,
  })
  const answer = await waitFor(next.client, other, 0, isType('llm.response'))
  expect(answer.data.message.content).toBe('The red ones are sown.')
  // The page's connections broke when the server was killed. No other error may have occurred.
  expect(troubles.filter(trouble => !/ERR_|Failed to (load|fetch)/.test(trouble))).toEqual([])
})
