"""What document 004 prints, in its own shorthand: matrices and their lists of definitions."""

from __future__ import annotations

SECOND = {
    r"i_{11}": r"I_{11,1} c_1^2 c_2^2 + I_{12,2} c_1^2 s_2^2 + I_{13,3} s_1^2",
    r"i_{22}": r"I_{13,3} c_1^2 + I_{11,1} c_2^2 s_1^2 + I_{12,2} s_1^2 s_2^2",
    r"i_{33}": r"I_{12,2} c_2^2 + I_{11,1} s_2^2",
    r"\sigma_1": r"I_{11,1} c_1 s_1 c_2^2 + I_{12,2} c_1 s_1 s_2^2 - I_{13,3} c_1 s_1",
    r"\sigma_2": r"I_{11,1} c_2 s_1 s_2 - I_{12,2} c_2 s_1 s_2",
    r"\sigma_3": r"I_{11,1} c_1 c_2 s_2 - I_{12,2} c_1 c_2 s_2",
}
THIRD = {
    r"i_{11}": r"I_{11,1} \sigma_6^2 + I_{12,2} \sigma_7^2 + I_{13,3} s_1^2",
    r"i_{22}": r"I_{11,1} \sigma_4^2 + I_{12,2} \sigma_5^2 + I_{13,3} c_1^2",
    r"i_{33}": r"I_{11,1} \sigma_9^2 + I_{12,2} \sigma_8^2",
    r"\sigma_1": r"I_{12,2} \, \sigma_7 \, \sigma_5 - I_{11,1} \, \sigma_6 \, \sigma_4 - I_{13,3} \, c_1 \, s_1",
    r"\sigma_2": r"-I_{11,1} \, \sigma_4 \, \sigma_9 - I_{12,2} \, \sigma_5 \, \sigma_8",
    r"\sigma_3": r"I_{11,1} \,\sigma_6 \,\sigma_9 - I_{12,2} \,\sigma_7 \,\sigma_8",
    r"\sigma_4": r"s_1 \, s_2 \, s_3 - c_2 \, c_3 \, s_1",
    r"\sigma_5": r"c_2 \, s_1 \, s_3 + c_3 \, s_1 \, s_2",
    r"\sigma_6": r"c_1 \, c_2 \, c_3 - c_1 \, s_2 \, s_3",
    r"\sigma_7": r"c_1 \, c_2 \, s_3 + c_1 \, c_3 \, s_2",
    r"\sigma_8": r"c_2 c_3 - s_2 s_3",
    r"\sigma_9": r"c_2 \, s_3 + c_3 \, s_2",
}
MASS_ENTRIES = {
    r"b_{11}": (
        r"I_{11,1} + 2.0I_{12,2} - 0.5I_{11,1}\sigma_3 + 0.5I_{12,2}\sigma_3 - 0.5I_{11,1}c_{2.0*2} + "
        r"0.5I_{12,2}c_{2.0*2} + 0.5a_2^2m_2 + 0.5a_2^2m_3 + 0.5a_3^2m_3 + m_1\mathrm{pl}_{13}^2 + "
        r"0.5m_2\mathrm{pl}_{21}^2 + m_2\mathrm{pl}_{23}^2 + 0.5m_3\mathrm{pl}_{31}^2 + m_3 \mathrm{pl}_{33}^2 "
        r"+ 0.5 m_3 \mathrm{pl}_{31}^2 \sigma_3 + 0.5 a_2^2 m_2 c_{2.0*2} + 0.5a_2^2m_3c_{2.0*2} + "
        r"0.5m_2\mathrm{pl}_{21}^2c_{2.0*2} + a_2m_2\mathrm{pl}_{21} + a_3m_3\mathrm{pl}_{31} + "
        r"0.5a_3^2m_3\sigma_3 + a_3m_3\mathrm{pl}_{31}\sigma_3 + a_2m_2\mathrm{pl}_{21}c_{2.0*2} + "
        r"a_2a_3m_3c_3 + a_2m_3\mathrm{pl}_{31}c_3 + a_2a_3m_3\sigma_5 + a_2m_3\mathrm{pl}_{31}\sigma_5"
    ),
    r"b_{22}": (
        r"2.0I_{13,3} + a_2^2 m_2 + a_2^2 m_3 + a_3^2 m_3 + m_2 \mathrm{pl}_{21}^2 + m_3 \mathrm{pl}_{31}^2 + "
        r"2.0a_2 m_2 \mathrm{pl}_{21} + 2.0a_3 m_3 \mathrm{pl}_{31} + 2.0a_2 a_3 m_3 c_3 + 2.0a_2 m_3 "
        r"\mathrm{pl}_{31} c_3"
    ),
    r"\sigma_1": (
        r"-a_3 m_3 \mathrm{pl}_{33} s_{23} - m_3 \mathrm{pl}_{31} \mathrm{pl}_{33} s_{23} - a_2 m_2 "
        r"\mathrm{pl}_{23} s_2 - a_2 m_3 \mathrm{pl}_{33} s_2 - m_2 \mathrm{pl}_{21} \mathrm{pl}_{23} s_2"
    ),
    r"\sigma_2": (
        r"m_3 a_3^2 + 2.0 m_3 a_3 \mathrm{pl}_{31} + a_2 m_3 c_3 a_3 + m_3 \mathrm{pl}_{31}^2 + a_2 m_3 c_3 "
        r"\mathrm{pl}_{31} + I_{13,3}"
    ),
    r"\sigma_3": r"c_{2*2+2*3}",
    r"\sigma_4": r"-m_3 \mathrm{pl}_{33} s_{23} (a_3 + \mathrm{pl}_{31})",
    r"\sigma_5": r"c_{2.0*2+3}",
}
CORIOLIS_ENTRIES = {
    r"C_{11}": (
        r"-\dot{q}_2(0.5I_{12,2}\sigma_{12} - 0.5I_{11,1}\sigma_{12} - 0.5I_{11,1}s_{2.0*2} + "
        r"0.5I_{12,2}s_{2.0*2} + 0.5a_3^2m_3\sigma_{12} + 0.5m_3\mathrm{pl}_{31}^2\sigma_{12} + "
        r"0.5a_2^2m_2s_{2.0*2} + 0.5a_2^2m_3s_{2.0*2} + 0.5m_2\mathrm{pl}_{21}^2s_{2.0*2} + "
        r"a_3m_3\mathrm{pl}_{31}\sigma_{12} + a_2m_2\mathrm{pl}_{21}s_{2.0*2} + a_2a_3m_3\sigma_1 + "
        r"a_2m_3\mathrm{pl}_{31}\sigma_1) - \dot{q}_3(0.5I_{12,2}\sigma_{12} - 0.5I_{11,1}\sigma_{12} + "
        r"0.5m_3(2a_3 + 2\mathrm{pl}_{31})(0.5a_2\sigma_1 + 0.5a_3\sigma_{12} + 0.5\mathrm{pl}_{31}\sigma_{12} "
        r"+ 0.5a_2s_3))"
    ),
    r"C_{12}": (
        r"0.5I_{11,1}\dot{q}_{1}\sigma_{12} - 0.5I_{12,2}\dot{q}_{1}\sigma_{12} + "
        r"0.5I_{11,1}\dot{q}_{1}s_{2.0*2} - 0.5I_{12,2}\dot{q}_{1}s_{2.0*2} - \sigma_{7} - \sigma_{6} - "
        r"0.5a_{2}^{2}\dot{q}_{1}m_{2}s_{2.0*2} - 0.5a_{2}^{2}\dot{q}_{1}m_{3}s_{2.0*2} - "
        r"0.5\dot{q}_{1}m_{2}\mathrm{pl}_{21}^{2}s_{2.0*2} - a_{2}a_{3}\dot{q}_{1}m_{3}\sigma_{1} - "
        r"a_{2}\dot{q}_{1}m_{3}\mathrm{pl}_{31}\sigma_{1} - \sigma_{8} - "
        r"a_{2}\dot{q}_{1}m_{2}\mathrm{pl}_{21}s_{2.0*2} - \sigma_{5} - \sigma_{4} - \sigma_{3} - \sigma_{2} - "
        r"a_{2}\dot{q}_{2}m_{2}\mathrm{pl}_{23}c_{2} - a_{2}\dot{q}_{2}m_{3}\mathrm{pl}_{33}c_{2} - "
        r"\dot{q}_{2}m_{2}\mathrm{pl}_{21}\mathrm{pl}_{23}c_{2}"
    ),
    r"C_{13}": (
        r"0.5I_{11,1}\dot{q}_{1}\sigma_{12} - 0.5I_{12,2}\dot{q}_{1}\sigma_{12} - \sigma_{7} - \sigma_{6} - "
        r"0.5a_{2}a_{3}\dot{q}_{1}m_{3}\sigma_{1} - 0.5a_{2}\dot{q}_{1}m_{3}\mathrm{pl}_{31}\sigma_{1} - "
        r"\sigma_{8} - \sigma_{5} - \sigma_{4} - \sigma_{3} - \sigma_{2} - 0.5a_{2}a_{3}\dot{q}_{1}m_{3}s_{3} "
        r"- 0.5a_{2}\dot{q}_{1}m_{3}\mathrm{pl}_{31}s_{3}"
    ),
    r"C_{21}": (
        r"0.5\dot{q}_{1}(I_{12,2}\sigma_{12} - I_{11,1}\sigma_{12} - I_{11,1}s_{2.0*2} + I_{12,2}s_{2.0*2} + "
        r"\sigma_{10} + \sigma_{9} + a_{2}^{2}m_{2}s_{2.0*2} + a_{2}^{2}m_{3}s_{2.0*2} + "
        r"m_{2}\mathrm{pl}_{21}^{2}s_{2.0*2} + \sigma_{11} + 2.0a_{2}m_{2}\mathrm{pl}_{21}s_{2.0*2} + "
        r"2.0a_{2}a_{3}m_{3}\sigma_{1} + 2.0a_{2}m_{3}\mathrm{pl}_{31}\sigma_{1})"
    ),
    r"C_{31}": (
        r"0.5\dot{q}_1(I_{12,2}\sigma_{12} - I_{11,1}\sigma_{12} + \sigma_{10} + \sigma_9 + \sigma_{11} + "
        r"a_2a_3m_3s_3 + a_2m_3\mathrm{pl}_{31}s_3 + a_2 a_3 m_3 \sigma_1 + a_2 m_3 \mathrm{pl}_{31} \sigma_1)"
    ),
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
