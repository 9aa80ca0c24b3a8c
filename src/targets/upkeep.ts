/** Looking after a table while operations change it. */
export interface Upkeep {
  /** What this role may do: clean up, and change settings of the table. */
  rights(table: string): Promise<{ vacuum: boolean; owner: boolean }>
  /** Cleans up after changed rows. */
  vacuum(table: string): Promise<void>
  /** Keeps vacuum from cutting off the end of a table; what it said before is written down with the change. */
  keepEnd(table: string): Promise<void>
  /** Puts back what a table said before, where no operation walks it any more. Gives its name. */
  restoreEnd(): Promise<string | undefined>
  close(): Promise<void>
}
