// What `npm run dev -- NAME` runs: programs for people who work on Cairn, which no product needs. Plain
// JavaScript, because tooling/run.mjs reads it on the system's Node before the pinned one is installed.
import { basename } from 'node:path'

/**
 * @param start `run` and `test` run a program and vitest at the root, `runHere` a program where the person
 *   stands, `runCli` the command `cairn` with the flags of the service.
 */
export const devCommands = ({ run, runHere, runCli, test, serviceFlags }) => ({
  // ---- Cairn and other projects' programs, each by hand

  /** acpx and the Python SDK against `cairn acp`, in both directions. */
  'interop:acp': (...args) => run('dev/interop/acp.ts', ...args),
  /** OpenCode, fetched from npm, end to end in a sandbox that reaches the model proxy only. */
  'interop:opencode': (...args) => run('dev/interop/opencode.ts', ...args),
  /**
   * The MCP client against the protocol's own conformance suite, fetched from npm: all required scenarios of
   * each revision, or of the one that is named.
   */
  'interop:mcp': (...args) => run('dev/interop/mcp.ts', ...args),
  /** The Python client of OpenAI against the compatible API. Needs a Python with venv. */
  'interop:openai': (...args) => run('dev/interop/openai.ts', ...args),
  /**
   * The Python client and the notebook of examples/, from their wheel. Needs a Python with venv; `-- PATH`
   * names another one.
   */
  'interop:python': (...args) => run('dev/interop/python.ts', ...args),
  /** Coding agents of others, fetched from npm, write transcripts that are imported: `-- --keep FOLDER`. */
  'interop:transcripts': (...args) => run('dev/interop/transcripts/write.ts', ...args),
  /** Needs `dovecot` in the path and a Python with aiosmtpd (CAIRN_JUDGE_PYTHON names it). */
  'interop:email': (...args) => run('agent/channels/test/email/judge.ts', ...args),
  /** Needs a Python with pywa (CAIRN_JUDGE_PYTHON names it). */
  'interop:whatsapp': (...args) => run('agent/channels/test/whatsapp/judge.ts', ...args),
  /**
   * Needs podman. Tests what only containers promise, then runs the tests of sandboxes over containers, with
   * podman's runtime or another (`runc`). With gVisor (`runsc`) it runs the attacks.
   */
  async 'interop:containers'(runtime) {
    process.env.CAIRN_TEST_BOXES = runtime === undefined ? 'container' : `container:${runtime}`
    const attacks = ['box', 'policy-proxy'].map(name => `agent/harness/test/security/${name}.test.ts`)
    const leftovers = 'agent/harness/test/security/leftovers.test.ts'
    const others = [
      ...attacks,
      leftovers,
      'agent/harness/test/security/resources.test.ts',
      'agent/harness/src/tools/terminal.test.ts',
    ]
    const tests =
      runtime === undefined || !basename(runtime).startsWith('runsc')
        ? [...others, 'agent/harness/test/mcp/sandboxed.test.ts']
        : // gVisor's own network does not have the machine's sockets.
          [...attacks, leftovers, '-t', '^(?!network: open)']
    const status = await run('agent/harness/test/sandbox/interop-containers.ts', 'judge', runtime ?? '')
    return status || test('--project', 'unit', ...tests)
  },
  /** Every op that a card can run, and a LoRA step of every recipe, on the card at hand and on the CPU. */
  'interop:cuda': async () => {
    const ops = await run('tune/program/test/interop-cuda.ts')
    return (await run('tune/train/test/interop-cuda.ts')) || ops
  },

  /** Ranks under `mpirun` of Open MPI or MPICH, in the path. */
  'interop:mpi': () => run('dev/interop/mpi.ts'),

  /** The same session against a test server for each known model server; writes docs/providers.md. */
  providers: () => run('agent/harness/test/zoo/write-table.ts'),

  // ---- chaos

  'chaos:children': (...args) => run('dev/chaos/children.ts', ...args),
  'chaos:postgres': (...args) => run('dev/chaos/postgres.ts', ...args),

  // ---- benchmarks

  /** `cairn bench`. */
  'bench:agent': (...args) => runCli('bench', ...args),
  /** This tree against another checkout; both are under load in turn. */
  'bench:pairs': (...args) => run(...serviceFlags, 'dev/bench/pairs.ts', ...args),
  /** The CPU of a turn with and without the export to OpenTelemetry, in pairs. */
  'bench:otel': (...args) => run(...serviceFlags, 'dev/bench/otel.ts', ...args),
  'bench:postgres': (...args) => run('dev/bench/postgres-store.ts', ...args),
  /** The search on the embedded store, or with `postgres` on that store. */
  'bench:search': (...args) => run('dev/bench/search.ts', ...args),
  'bench:schedules': (...args) => run('dev/bench/schedules.ts', ...args),
  /** Disk per event and sessions that wake a second, on both stores. */
  'bench:sizing': (...args) => run(...serviceFlags, 'dev/bench/sizing.ts', ...args),
  /** The page with a long log, in Chromium. */
  'bench:page': (...args) => run('dev/bench/scroll.ts', ...args),
  /** The Run view with a long log, in Chromium. */
  'bench:run': (...args) => run('dev/bench/run-view.ts', ...args),
  /**
   * Matrix products, then whole steps of every recipe: threads (1), rows (2048), repeats. With `experts` the
   * products of experts instead: --rows, --stored, --parts. With `ranks` steps on several ranks: --kinds.
   */
  'bench:tune': async (...args) =>
    args[0] === 'experts'
      ? run('tune/train/bench/expert-matmul.ts', ...args.slice(1))
      : args[0] === 'ranks'
        ? run('tune/train/bench/rank-steps.ts', ...args.slice(1))
        : (await run('tune/native/bench/matmul.ts', ...args)) || run('tune/train/bench/step.ts', ...args),
  /** Micro-steps on a card: tokens per second, and op by op. */
  'bench:cuda': (...args) => run('tune/train/bench/step-cuda.ts', ...args),
  /** Everything worth measuring on a card, in one call with a time limit: output folder, seconds (540). */
  'card-day': (...args) => run('dev/card-day/main.ts', ...args),
  /** Launches and bytes of micro-steps on a card, counted without running them. */
  'counts:cuda': (...args) => run('tune/train/bench/counts-cuda.ts', ...args),
  'bench:preferences': (...args) => run('tune/train/bench/preference-step.ts', ...args),
  'bench:serve': (...args) => run('tune/serve/bench/serve.ts', ...args),
  'bench:llama': (...args) => run('tune/serve/bench/against-llama.ts', ...args),
  /** The cost of a form per token. */
  'bench:forms': (...args) => run('tune/serve/bench/form-cost.ts', ...args),

  // ---- other processors

  /** Runs a command with the emulated card as its CUDA driver. */
  emulated: (...args) => runHere('dev/emulator/src/main.ts', args),
  /** Tests of the ARM kernels in an emulator, on machines that have another processor. */
  neon: (...args) => run('dev/neon/start.ts', ...args),

  /** Whether random answers satisfy the schemas of the published JSON Schema suite. */
  schemas: (...args) => run('tune/serve/bench/schemas.ts', ...args),
})
