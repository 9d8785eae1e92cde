/** An unusable configuration: what is wrong, where, and what would be valid. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** One sentence each. */
  readonly problems: readonly string[]
  constructor(file: string, problems: readonly string[], options?: ErrorOptions) {
    super(
      problems.length === 1
        ? `${file}: ${problems[0]}`
        : `${file} has ${problems.length} errors:\n` +
            `${problems.map(problem => `  - ${problem}`).join('\n')}`,
      options,
    )
    this.problems = problems
  }
}
