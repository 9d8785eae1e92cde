/** How long requests wait for tokens, as histograms in seconds. */

export type Histogram = {
  readonly bounds: readonly number[]
  /** Number of values up to each bound, and above the last. */
  readonly counts: readonly number[]
  readonly sum: number
  add(seconds: number): void
}

function createHistogram(bounds: readonly number[]): Histogram {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0)
  let sum = 0
  return {
    bounds,
    counts,
    get sum() {
      return sum
    },
    add(seconds) {
      const found = bounds.findIndex(bound => seconds <= bound)
      const at = found < 0 ? bounds.length : found
      counts[at] = (counts[at] ?? 0) + 1
      sum += seconds
    },
  }
}

/** The bounds of vLLM, so that its dashboards can read these histograms. */
const FIRST = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
  2560,
]
const NEXT = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80]
const WHOLE = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680]

export type Latencies = {
  readonly firstToken: Histogram
  readonly nextToken: Histogram
  readonly request: Histogram
  /** Starts the clock of a request. Call `token` for each token and `end` at the end. */
  begin(): { token(): void; end(): void }
}

export function createLatencies(now: () => number = () => performance.now()): Latencies {
  const [firstToken, nextToken, request] = [
    createHistogram(FIRST),
    createHistogram(NEXT),
    createHistogram(WHOLE),
  ]
  return {
    firstToken,
    nextToken,
    request,
    begin() {
      const start = now()
      let last: number | undefined
      return {
        token() {
          const time = now()
          if (last === undefined) firstToken.add((time - start) / 1000)
          else nextToken.add((time - last) / 1000)
          last = time
        },
        end: () => request.add((now() - start) / 1000),
      }
    },
  }
}
