/** Contract 10.4, 14.6: an approval covers one call, once, and removes only the need for it. */
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { argumentsHash } from '../../src/tools/canonical-json.ts'
import { callTool } from '../../src/tools/call-tool.ts'
import { call, makeBench, makeTool, newId, policyOf, typesOf } from './bench.ts'

const policy = policyOf({ require_approval: ['write_file', 'terminal'] })
const write = { path: 'a.txt', content: 'x' }

/**
 * Promise 10.5: A gated call writes `tool.call`, `policy.denied`, `inbox.governance_gate` and `tool.result`,
 * in this order.
 */
test('a gated call writes its four events in order and in one commit, with the marker in its result', async () => {
  await using bench = await makeBench()
  const one = call('write_file', write)
  expect(await callTool(bench.deps({ policy }), one)).toMatchObject({ status: 'gated' })
  expect(bench.commits).toEqual([['tool.call', 'policy.denied', 'inbox.governance_gate', 'tool.result']])
  expect(await bench.resultOf(one)).toEqual({
    elapsed_ms: 0,
    content: {
      error: 'policy_blocked_overridable',
      message: "tool 'write_file' requires human approval",
      tool_call_id: one.tool_call_id,
    },
  })
  const [item] = (await bench.store.inbox.list({ org_id: 'org', limit: 10 })).items
  expect((await bench.events())[0]?.data).toMatchObject({ verdict: 'ask' })
  expect((await bench.events())[2]?.data).toEqual({
    item_id: item?.id,
    tool_name: 'write_file',
    tool_call_id: one.tool_call_id,
    arguments_excerpt: '{"content":"x","path":"a.txt"}',
    deny_reason: "tool 'write_file' requires human approval",
    policy_id: 'require_approval:write_file',
    arguments: write,
    shown_hash: argumentsHash(write),
  })
  expect(item).toMatchObject({ kind: 'governance_gate', status: 'pending', source_event_id: 4 })
  expect(existsSync(join(bench.workspace, 'a.txt'))).toBe(false)
})

test('the excerpt of the arguments has at most 500 characters and no path of the machine', async () => {
  await using bench = await makeBench()
  await callTool(
    bench.deps({ policy }),
    call('write_file', { path: join(bench.workspace, 'a.txt'), content: '😀'.repeat(2000) }),
  )
  const gate = (await bench.events()).find(event => event.type === 'inbox.governance_gate')
  const excerpt = gate?.type === 'inbox.governance_gate' ? gate.data.arguments_excerpt : ''
  expect(excerpt.length).toBeLessThanOrEqual(500)
  expect(excerpt.isWellFormed()).toBe(true)
  expect(JSON.stringify(gate)).not.toContain(bench.workspace)
})

test('an approved call runs once, its grant is consumed with its tool.call, and the next call is gated again', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps({ policy }), call('write_file', write))
  await bench.respond('approve')
  // The same arguments in another order: the same call.
  const again = call('write_file', `{"content": "x", "path": "a.txt"}`)
  expect(await callTool(bench.deps({ policy }), again)).toMatchObject({ status: 'ok' })
  expect(bench.commits.slice(1)).toEqual([['tool.call', 'policy.allowed'], ['tool.result']])
  expect((await bench.events()).find(event => event.type === 'policy.allowed')?.data).toEqual({
    tool_name: 'write_file',
    reason: 'human approval',
    tool_call_id: again.tool_call_id,
    decided_by_user_id: 'user-alice',
  })
  expect(existsSync(join(bench.workspace, 'a.txt'))).toBe(true)
  expect(await bench.store.grants.find(bench.session_id, 'write_file', argumentsHash(write))).toBeNull()
  expect(await callTool(bench.deps({ policy }), call('write_file', write))).toMatchObject({ status: 'gated' })
})

test('an approval covers a call with either form of the workspace path', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps({ policy }), call('terminal', { command: 'echo x > __WORKSPACE__/made.txt' }))
  await bench.respond('approve')
  expect(
    await callTool(
      bench.deps({ policy }),
      call('terminal', { command: `echo x > ${bench.workspace}/made.txt` }),
    ),
  ).toMatchObject({ status: 'ok' })
})

test('an approval of a call with a secret can be used, although the log does not contain the secret', async () => {
  await using bench = await makeBench()
  const args = { command: 'echo sk-abcdefghijklmnopqrstuvwx > key.txt' }
  await callTool(bench.deps({ policy }), call('terminal', args))
  await bench.respond('approve')
  expect(await callTool(bench.deps({ policy }), call('terminal', args))).toMatchObject({ status: 'ok' })
  expect(JSON.stringify(await bench.events())).not.toContain('sk-abcdefgh')
})

test('another argument or a rejection gives no grant', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps({ policy }), call('write_file', write))
  await bench.respond('approve')
  expect(
    await callTool(bench.deps({ policy }), call('write_file', { ...write, content: 'y' })),
  ).toMatchObject({ status: 'gated' })
  await bench.respond('reject')
  expect(
    await callTool(bench.deps({ policy }), call('write_file', { ...write, content: 'y' })),
  ).toMatchObject({ status: 'gated' })
})

test('with one grant for two parallel calls, one runs and the other is gated', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps({ policy }), call('write_file', write))
  await bench.respond('approve')
  const outcomes = await Promise.all(
    [call('write_file', write), call('write_file', write)].map(one => callTool(bench.deps({ policy }), one)),
  )
  expect(outcomes.map(outcome => outcome.status).toSorted()).toEqual(['gated', 'ok'])
  expect(typesOf(await bench.events()).filter(type => type === 'policy.allowed')).toHaveLength(1)
})

test('an approved call that now leaves the workspace is denied and keeps its grant', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps({ policy }), call('write_file', { path: 'link/a.txt', content: 'x' }))
  await bench.respond('approve')
  symlinkSync('/etc', join(bench.workspace, 'link'))
  expect(
    await callTool(bench.deps({ policy }), call('write_file', { path: 'link/a.txt', content: 'x' })),
  ).toMatchObject({ status: 'refused' })
  expect((await bench.events()).findLast(event => event.type === 'policy.denied')?.data).toMatchObject({
    policy_id: 'workspace_containment',
  })
  expect(
    await bench.store.grants.find(
      bench.session_id,
      'write_file',
      argumentsHash({ path: 'link/a.txt', content: 'x' }),
    ),
  ).not.toBeNull()
})

test('an approved call is denied where the same call without the approval rule would be', async () => {
  await using bench = await makeBench()
  const names = ['write_file', 'web_fetch', 'act']
  let ran = 0
  const act = makeTool('act', () => {
    ran += 1
    return { content: 'done' }
  })
  const stub = (name: string) => ({
    ...makeTool(name, act.run),
    ...(name === 'write_file'
      ? { paths: ['path'], mutatesFiles: true as const }
      : name === 'web_fetch'
        ? { urls: ['url'] }
        : {}),
  })
  const list = fc.array(fc.constantFrom(...names, '*', 'w*'), { maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        denied: list,
        allowed: list,
        agentTools: fc.option(list, { nil: undefined }),
        name: fc.constantFrom(...names),
        args: fc.record({
          path: fc.constantFrom('a.txt', '../out', '.cairn/x'),
          url: fc.constantFrom('http://example.org/', 'http://10.0.0.1/', 'no url'),
        }),
      }),
      async ({ denied, allowed, agentTools, name, args }) => {
        const deps = (require_approval: string[], granted: boolean) =>
          bench.deps(
            {
              policy: policyOf({ denied_tools: denied, allowed_tools: allowed, require_approval }),
              agentTools,
              checkpoints: null,
              commit: () => Promise.resolve(),
              findGrant: () => Promise.resolve(granted ? { id: 'g', granted_by: null } : null),
            },
            names.map(stub),
          )
        const one = { ...call(name, args), tool_call_id: newId() }
        const ungated = await callTool(deps([], false), one)
        const approved = await callTool(deps(['*'], true), one)
        const before = ran
        const gated = await callTool(deps(['*'], false), one)
        expect(approved.status).toBe(ungated.status)
        expect(gated.status).toBe(ungated.status === 'ok' ? 'gated' : ungated.status)
        expect(ran).toBe(before)
      },
    ),
    { numRuns: 150 },
  )
})

test('with log_allowed every allowed call is recorded, too, in its commit', async () => {
  await using bench = await makeBench()
  await callTool(bench.deps({ logAllowed: true }), call('read_file', { path: 'none' }))
  expect(bench.commits[0]).toEqual(['tool.call', 'policy.allowed'])
  expect((await bench.events())[1]?.data).toEqual({
    tool: 'read_file',
    check: 'governance_gate',
    timestamp: expect.any(Number) as number,
  })
})

/** Promise 14.6: A gated call repeated before its decision creates no second inbox item. */
test('a repeated gated call before the decision names the first call and creates no second item', async () => {
  await using bench = await makeBench()
  const [first, second, third] = [
    call('write_file', write),
    call('write_file', `{"content": "x", "path": "a.txt"}`),
    call('write_file', { ...write, content: 'y' }),
  ]
  await callTool(bench.deps({ policy }), first)
  expect(await callTool(bench.deps({ policy }), second)).toMatchObject({ status: 'gated' })
  expect(bench.commits[1]).toEqual(['tool.call', 'policy.denied', 'inbox.governance_gate', 'tool.result'])
  expect((await bench.resultOf(second))?.content).toMatchObject({
    error: 'policy_blocked_overridable',
    tool_call_id: second.tool_call_id,
    message: expect.stringContaining(first.tool_call_id),
  })
  expect(
    (await bench.events()).filter(event => event.type === 'inbox.governance_gate').at(-1)?.data,
  ).toMatchObject({ tool_call_id: second.tool_call_id, repeats_tool_call_id: first.tool_call_id })
  await callTool(bench.deps({ policy }), third)
  const pending = async () =>
    (await bench.store.inbox.list({ org_id: 'org', status: ['pending'], limit: 10 })).items.map(
      item => item.payload['tool_call_id'],
    )
  expect((await pending()).toSorted()).toEqual([first.tool_call_id, third.tool_call_id].toSorted())
  // One approval lets the repeated call run; the next call needs a new one.
  await bench.respond('approve')
  expect(await callTool(bench.deps({ policy }), call('write_file', write))).toMatchObject({ status: 'ok' })
  await callTool(bench.deps({ policy }), call('write_file', write))
  expect(await pending()).toHaveLength(2)
})

test('the same gated call twice in parallel creates one item', async () => {
  await using bench = await makeBench()
  const deps = bench.deps({ policy })
  await Promise.all(
    [call('terminal', { command: 'x' }), call('terminal', { command: 'x' })].map(one => callTool(deps, one)),
  )
  expect((await bench.store.inbox.list({ org_id: 'org', limit: 10 })).items).toHaveLength(1)
})
