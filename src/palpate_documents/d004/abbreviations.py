"""Document 004: the abbreviations that it prints beside its matrices."""

from __future__ import annotations

ROTATION = {
    r"\sigma_4": r"s_1 \, s_2 \, s_3 - c_2 \, c_3 \, s_1",
    r"\sigma_5": r"c_2 \, s_1 \, s_3 + c_3 \, s_1 \, s_2",
    r"\sigma_6": r"c_1 \, c_2 \, c_3 - c_1 \, s_2 \, s_3",
    r"\sigma_7": r"c_1 \, c_2 \, s_3 + c_1 \, c_3 \, s_2",
    r"\sigma_8": r"c_2 c_3 - s_2 s_3",
    r"\sigma_9": r"c_2 \, s_3 + c_3 \, s_2",
}
WAVES = {
    r"\sigma_3": r"c_{2*2+2*3}",
    r"\sigma_5": r"c_{2.0*2+3}",
}
CORIOLIS = {
    r"\sigma_1": r"s_{2.0*2+3}",
    r"\sigma_2": r"\dot{q}_3 m_3 \mathrm{pl}_{31} \mathrm{pl}_{33} c_{23}",
    r"\sigma_3": r"\dot{q}_2 m_3 \mathrm{pl}_{31} \mathrm{pl}_{33} c_{23}",
    r"\sigma_4": r"a_3 \dot{q}_3 m_3 \mathrm{pl}_{33} c_{23}",
    r"\sigma_5": r"a_3 \dot{q}_2 m_3 \mathrm{pl}_{33} c_{23}",
    r"\sigma_6": r"0.5\dot{q}_1 m_3 \mathrm{pl}_{31}^2 \sigma_{12}",
    r"\sigma_7": r"0.5a_3^2 \dot{q}_1 m_3 \sigma_{12}",
    r"\sigma_8": r"a_3 \dot{q}_1 m_3 \mathrm{pl}_{31} \sigma_{12}",
    r"\sigma_9": r"m_3 \mathrm{pl}_{31}^{2} \sigma_{12}",
    r"\sigma_{10}": r"a_3^2 m_3 \sigma_{12}",
    r"\sigma_{11}": r"2.0 a_3 m_3 \mathrm{pl}_{31} \sigma_{12}",
    r"\sigma_{12}": r"s_{2*2+2*3}",
}
