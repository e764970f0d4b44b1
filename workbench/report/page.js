"use strict";
// Draws the figures from the JSON in the page, in the reader's mode; touches nothing else.
(() => {
  const held = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const button = document.getElementById("mode");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const config = {
    responsive: true,
    displaylogo: false,
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  let chosen = null;

  const mode = () => chosen ?? (dark.matches ? "dark" : "light");

  const draw = (now) => {
    root.dataset.mode = now;
    button.textContent = now === "dark" ? "Light mode" : "Dark mode";
    const drawn = Object.entries(held.figures).map(([name, figure]) => {
      const layout = structuredClone(figure.layout);
      // The page prints captions as text; the figure's own is for where it stands alone.
      layout.annotations = (layout.annotations ?? []).filter((one) => one.name !== "caption");
      layout.height -= layout.meta.foot;
      layout.margin.b -= layout.meta.foot;
      layout.template = held.templates[now];
      const place = document.getElementById(`figure-${name}`);
      return Plotly.react(place, structuredClone(figure.data), layout, config);
    });
    return Promise.all(drawn).then(() => { root.dataset.drawn = now; });
  };

  button.hidden = false;
  button.addEventListener("click", () => {
    chosen = mode() === "dark" ? "light" : "dark";
    draw(chosen);
  });
  dark.addEventListener("change", () => draw(mode()));
  addEventListener("beforeprint", () => draw("light"));
  addEventListener("afterprint", () => draw(mode()));
  draw(mode());
})();
