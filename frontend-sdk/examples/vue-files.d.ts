/** What our own check takes for a component; an app of its own has `vue-tsc`, which looks into it. */

declare module "*.vue" {
  import type { Component } from "vue";

  const component: Component;
  export default component;
}
