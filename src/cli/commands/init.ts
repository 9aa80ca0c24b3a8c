import { basename } from 'node:path'
import { addIgnoreLine } from '../init/gitignore.ts'
import { addScripts } from '../init/package-scripts.ts'
import { writeConfig } from '../init/starter-config.ts'
import type { Step } from '../init/step.ts'
import type { Line } from '../output.ts'
import type { CommandAdder, Shell } from '../shell.ts'

export const addInit: CommandAdder = (parent, shell) => {
  parent
    .command('init')
    .description('write sluice.config.ts with an example and prepare this folder; overwrites nothing')
    .option('--yes', 'accepted for scripts; there is nothing to ask')
    .action(() => init(shell))
}

async function init({ output, folder }: Shell): Promise<void> {
  const steps: Step[] = [await writeConfig(folder), await addIgnoreLine(folder), ...(await addScripts(folder))]
  if (output.json) return output.record({ steps: steps.map((step) => ({ ...step, file: basename(step.file) })) })
  for (const step of steps) output.data(...stepLine(step))
  output.note('Next: put your own table into sluice.config.ts, then run "sluice migrate" and "sluice worker".')
}

function stepLine({ file, done, what }: Step): Line {
  return [
    done === 'kept' ? ['dim', 'kept    '] : ['green', done.padEnd(8)],
    ` ${basename(file).padEnd(16)}  `,
    ['dim', what],
  ]
}
