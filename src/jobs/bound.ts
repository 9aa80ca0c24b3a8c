import type {
  AnySpec,
  BoundJob,
  EffectContext,
  HandlerContext,
  TransactionalContext,
  TransactionalSpec,
} from './definition.ts'
import { enter } from './layers.ts'

/** A declared job with its args. */
export class Bound implements BoundJob {
  readonly #spec: AnySpec
  readonly #args: unknown

  constructor(spec: AnySpec, args: unknown) {
    this.#spec = spec
    this.#args = args
  }

  uniqueKey(): string | undefined {
    return this.#spec.unique?.key?.(this.#args)
  }

  limitKey(): string | undefined {
    return this.#spec.concurrency?.key(this.#args)
  }

  perform(context: HandlerContext): unknown {
    context.args = this.#args
    const spec = this.#spec
    const perform = (): unknown => spec.perform(context as TransactionalContext<unknown>)
    return spec.guard === undefined && !('lock' in spec) ? perform() : enter(spec, context, perform)
  }

  get hasEffect(): boolean {
    return 'effect' in this.#spec && this.#spec.effect !== undefined
  }

  effect(context: HandlerContext): unknown {
    context.args = this.#args
    const spec = this.#spec as TransactionalSpec<unknown>
    const perform = (): unknown => spec.effect?.(context as EffectContext<unknown>)
    return spec.guard === undefined ? perform() : enter(spec, context, perform)
  }
}
